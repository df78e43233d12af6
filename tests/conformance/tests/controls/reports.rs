//! What the suite says about target files, and the forms of its report.

use std::collections::BTreeMap;

use conformance::{Selection, Suite, Target};

use crate::defect::Defect;
use crate::run;

/// The target file of a server that does not run.
const ABSENT: &str = r#"name = "absent"
servers = ["http://127.0.0.1:1"]
[callers]
default = {}
[command]
method = "POST"
path = "/"
body = "{}"
status = 201
effects = { path = "/", count = "/items" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_case_is_in_each_form_of_the_report_with_its_reason() {
    let selection = Selection { numbers: vec![301, 302], ..Selection::default() };
    let report = run(Some(Defect::HasNoFingerprint), &selection).await;
    assert!(!report.is_conformant());

    let table = report.to_string();
    assert!(table.contains("301 failed   another body is refused and the first response is kept"), "{table}");
    assert!(table.contains("why it matters: Otherwise a client believes"), "{table}");
    assert!(table.contains("control: 1 passed, 1 failed, 0 differ, 0 skipped"), "{table}");

    let json = report.as_json();
    assert_eq!(json["cases"][0]["number"], 301);
    assert_eq!(json["cases"][0]["status"], "failed");
    assert_eq!(json["cases"][1]["status"], "passed");

    let junit = report.as_junit().unwrap();
    assert!(junit.contains("tests=\"2\"") && junit.contains("failures=\"1\""), "{junit}");
    assert!(junit.contains("classname=\"control.fingerprint\""), "{junit}");
}

#[test]
fn every_case_has_a_number_of_its_own() {
    let numbers: Vec<u16> = Suite::of(&Selection::default()).cases().map(|case| case.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn a_target_file_that_cannot_be_used_says_why() {
    for (text, expected) in [
        ("servers = []", "missing field"),
        ("name = \"${NO_SUCH_VARIABLE}\"", "NO_SUCH_VARIABLE of the target file is not set"),
        ("name = \"${X\"", "without `}`"),
        (
            "[variables]\nX = { command = [\"false\"] }\n[callers.default]\nA = \"${X}\"",
            "command of the variable X failed",
        ),
        (&format!("cases_at_once = 0\n{ABSENT}"), "`0`, expected a nonzero"),
    ] {
        let error = Target::parse(text, &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_respond_is_an_error_and_no_failed_case() {
    let target = Target::parse(ABSENT, &BTreeMap::new()).unwrap();
    let error =
        Suite::of(&Selection::default()).run(&target).await.map(|report| report.to_string()).unwrap_err();
    assert!(error.contains("no response") && error.contains("http://127.0.0.1:1/"), "{error}");
}

#[test]
fn a_variable_may_have_quotes() {
    let given = [("NAME".to_owned(), "a \"shop\"\\".to_owned())].into();
    let target = Target::parse(&ABSENT.replace("absent", "${NAME}"), &given).unwrap();
    assert!(format!("{target:?}").contains(r#"name: "a \"shop\"\\""#), "{target:?}");
}
