#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The suite against a server that is sound, and against the same server with one defect after the other.

mod control;
mod defect;
mod fence;
mod keys;
mod reports;
mod request;
mod responses;
mod server;

use std::path::Path;
use std::time::Duration;

use conformance::{CaseStatus, Group, Report, Selection, Suite, Target};
use strum::VariantArray;

use crate::control::Control;
use crate::defect::Defect;

/// A life of keys that no test outlasts.
const LONG: Duration = Duration::from_hours(1);

/// A life of keys that a case can wait for.
const SHORT: Duration = Duration::from_secs(2);

fn target_file() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls/control.toml"))
        .unwrap()
}

/// Reads the text of a target file for this control.
fn target(control: &Control, text: &str, expires: bool) -> Target {
    let [first, second] = control.urls.clone();
    let port = first.rsplit_once(':').unwrap().1.to_owned();
    let expires = if expires { SHORT.as_secs().to_string() } else { String::new() };
    let given = [("FIRST", first), ("SECOND", second), ("PORT", port), ("EXPIRES", expires)];
    Target::parse(text, &given.map(|(name, value)| (name.to_owned(), value)).into()).unwrap()
}

async fn run(defect: Option<Defect>, selection: &Selection) -> Report {
    let expires =
        selection.groups == [Group::Expiry] || selection.numbers.iter().any(|number| number / 100 == 7);
    let control = Control::start(defect, if expires { SHORT } else { LONG }).await;
    Suite::of(selection).run(&target(&control, &target_file(), expires)).await.unwrap()
}

fn only(group: Group) -> Selection {
    Selection { groups: vec![group], ..Selection::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_server_passes_every_case() {
    let report = run(None, &Selection::default()).await;
    for result in &report.cases {
        let is_expiry = result.case.group() == Group::Expiry;
        let is_skipped = matches!(result.status, CaseStatus::Skipped(_));
        assert!(result.status == CaseStatus::Passed || (is_expiry && is_skipped), "{report}");
    }
    assert_eq!(report.cases.len(), 107, "README.md has another number of cases");
    let report = run(None, &only(Group::Expiry)).await;
    for result in &report.cases {
        let is_passed = result.status == CaseStatus::Passed;
        assert!(is_passed || result.case.number == 705, "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_agentic_commerce_protocol_is_judged_by_its_rules() {
    let text = format!("profile = \"acp\"\n{}", target_file().replace("keys = \"uuid\"", ""));
    let mut selection = only(Group::Expiry);
    for (defect, is_sound) in [(Some(Defect::ExecutesExpiredKeys), true), (None, false)] {
        let control = Control::start(defect, SHORT).await;
        let report = Suite::of(&selection).run(&target(&control, &text, true)).await.unwrap();
        assert_eq!(report.is_conformant(), is_sound, "{report}");
        let skipped = report.cases.iter().filter(|it| matches!(it.status, CaseStatus::Skipped(_)));
        let skipped: Vec<u16> = skipped.map(|it| it.case.number).collect();
        assert_eq!(skipped, [702, 703, 704], "{report}");
    }
    // Without members of its own, the target has those of the profile.
    let without = text.split("[responses]").next().unwrap().to_owned()
        + "[command]\n"
        + text.split("[command]\n").nth(1).unwrap();
    selection = Selection { numbers: vec![216, 301, 302], ..Selection::default() };
    let control = Control::start(None, LONG).await;
    let report = Suite::of(&selection).run(&target(&control, &without, false)).await.unwrap();
    assert!(report.to_string().contains("expected the code idempotency_conflict"), "{report}");
}

/// The smallest target file of README.md, for this control and this path of the command.
async fn run_smallest(defect: Option<Defect>, path: &str, numbers: &[u16]) -> Report {
    let (_, file) = include_str!("../../README.md").split_once("```toml").unwrap();
    let text = file.split_once("```").unwrap().0.replace("\"/orders\"", &format!("\"{path}\""));
    let text = text.replace("/orders?", "/things?").replace("http://127.0.0.1:8080", "${FIRST}");
    let text = text.replace("Authorization = \"Bearer ${TOKEN}\"", "X-Api-Key = \"a/one/write/1\"");
    let control = Control::start(defect, LONG).await;
    let selection = Selection { numbers: numbers.to_vec(), ..Selection::default() };
    Suite::of(&selection).run(&target(&control, &text, false)).await.unwrap()
}

/// Defects that the smallest target file has to find: the path of its command, and the case.
const FOUND_BY_THE_SMALLEST: [(Defect, &str, u16); 10] = [
    (Defect::DropsHeaders, "/things", 202),
    (Defect::DropsACustomHeader, "/things", 202),
    (Defect::MakesAnotherETag, "/things", 202),
    (Defect::ReplaysTheCurrentState, "/things", 207),
    (Defect::ReplaysALaterState, "/things", 207),
    (Defect::LosesTheRecordOfACutConnection, "/things", 209),
    (Defect::TakesNullForAbsent, "/things", 309),
    (Defect::IgnoresThePath, "/things/{unique}/changes", 312),
    (Defect::BlocksDuplicates, "/things", 405),
    (Defect::HasOneScopeForAllRoutes, "/things", 508),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_of_these_defects_is_found_with_the_smallest_target_file() {
    let mut missed = Vec::new();
    for (defect, path, case) in FOUND_BY_THE_SMALLEST {
        let report = run_smallest(Some(defect), path, &[case]).await;
        if report.is_conformant() {
            missed.push(format!("{defect} at {path}: {report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_server_fails_no_case_of_the_smallest_target_file() {
    let report = run_smallest(None, "/things", &[]).await;
    assert!(report.is_conformant(), "{report}");
    let report = run_smallest(None, "/things/{unique}/changes", &[]).await;
    for result in &report.cases {
        let is_needed = FOUND_BY_THE_SMALLEST.iter().any(|(_, _, case)| *case == result.case.number);
        let is_skipped = matches!(result.status, CaseStatus::Skipped(_));
        assert!(result.status == CaseStatus::Passed || (is_skipped && !is_needed), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_defect_is_found_by_each_case_that_is_meant_for_it() {
    for defect in Defect::VARIANTS {
        let selection = Selection { numbers: defect.cases().to_vec(), ..Selection::default() };
        let report = run(Some(*defect), &selection).await;
        let found: Vec<u16> = report.failed().map(|failed| failed.case.number).collect();
        assert_eq!(found, defect.cases(), "not every case finds {defect}: {report}");
    }
}

/// A target whose command takes each thing once, for a number of things.
async fn run_once_for_each(defect: Option<Defect>, things: usize, numbers: &[u16]) -> Report {
    let (head, _) =
        target_file().split_once("[command]").map(|(head, rest)| (head.to_owned(), rest.to_owned())).unwrap();
    let text = format!(
        r#"next_cursor = "/next"
{head}
[[prepare]]
method = "POST"
path = "/things"
body = '{{"reference":"open"}}'
status = [201]
times = {things}
[fresh]
path = "/open-things"
list = "/data"
id = "/id"
count = {things}
[command]
method = "POST"
path = "/things/{{fresh}}/completion"
body = '{{"reference":"{{text}} {{number}}"}}'
status = 200
effects = {{ path = "/open-things?all", count = "/data", with = {{ "/reference" = "{{unique}}*" }} }}
"#
    );
    let control = Control::start(defect, LONG).await;
    let selection = Selection { numbers: numbers.to_vec(), ..Selection::default() };
    Suite::of(&selection).run(&target(&control, &text, false)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_server_whose_command_uses_resources_up_fails_no_case() {
    let report = run_once_for_each(None, 500, &[]).await;
    assert!(report.is_conformant(), "{report}");
    let passed = |number: u16| {
        report.cases.iter().any(|result| result.case.number == number && result.status == CaseStatus::Passed)
    };
    for number in [114, 302, 312, 402, 409, 501, 502, 503, 801] {
        assert!(passed(number), "{number} has several commands, each for a thing of its own: {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn defects_are_found_where_the_command_uses_resources_up() {
    for (defect, case) in [
        (Defect::HasNoFingerprint, 301),
        (Defect::IgnoresThePath, 312),
        (Defect::HasOneScopeForAllTenants, 501),
        (Defect::HasOneScopeForAllTenants, 502),
    ] {
        let report = run_once_for_each(Some(defect), 10, &[case]).await;
        assert!(!report.is_conformant(), "{defect}: {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_without_a_resource_left_says_so() {
    let report = run_once_for_each(None, 10, &[402]).await.to_string();
    assert!(report.contains("[fresh] has no id left: raise its `count`"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_quoted_keys_only_passes_with_quoted_keys() {
    let control = Control::start(Some(Defect::FollowsTheDraftStrictly), LONG).await;
    let text = target_file();
    let text = format!("quoted_keys = true\n{text}\n[differs]\n114 = \"a bare key is not a String\"\n");
    let target = target(&control, &text, false);
    let report = Suite::of(&Selection::default()).run(&target).await.unwrap();
    assert!(report.is_conformant(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_that_the_target_file_names_must_exist_and_be_tested() {
    let control = Control::start(Some(Defect::DoesNotMarkReplays), LONG).await;
    let selection = Selection { numbers: vec![203, 302, 702], ..Selection::default() };
    let text = format!("{}\n[differs]\n203 = \"no marks\"\n302 = \"passes\"\n702 = \"\"\n", target_file());
    let report = Suite::of(&selection).run(&target(&control, &text, false)).await.unwrap();
    let statuses: Vec<String> = report.cases.iter().map(|result| result.status.to_string()).collect();
    assert_eq!(statuses, ["differs", "failed", "failed"], "{report}");
    assert!(report.to_string().contains("[differs] lists 702, and the case is skipped"), "{report}");

    let error = Suite::of(&selection).run(&target(&control, &format!("{text}215 = \"\"\n"), false)).await;
    let error = error.map(|report| report.to_string()).unwrap_err();
    assert!(error.contains("lists 215, and no case has this number"), "{error}");
}
