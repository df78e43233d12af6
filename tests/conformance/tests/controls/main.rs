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
mod keys;
mod reports;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use conformance::{Group, Outcome, Report, Selection, Suite, Target};
use strum::VariantArray;

use crate::control::Control;
use crate::defect::Defect;

/// A life of keys that no test outlasts.
const LONG: Duration = Duration::from_hours(1);

/// A life of keys that a case can wait for.
const SHORT: Duration = Duration::from_secs(1);

fn target(control: &Control, expires: bool) -> Target {
    let port = control.urls[0].rsplit_once(':').unwrap().1.to_owned();
    let given = [
        ("FIRST", control.urls[0].clone()),
        ("SECOND", control.urls[1].clone()),
        ("PORT", port),
        ("EXPIRES", if expires { "1" } else { "" }.to_owned()),
    ];
    let given: BTreeMap<String, String> = given.map(|(name, value)| (name.to_owned(), value)).into();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls/control.toml");
    Target::read(&file, &given).unwrap()
}

async fn run(defect: Option<Defect>, selection: &Selection) -> Report {
    let expires =
        selection.groups == [Group::Expiry] || selection.numbers.iter().any(|number| number / 100 == 7);
    let control = Control::start(defect, if expires { SHORT } else { LONG }).await;
    Suite::of(selection).run(&target(&control, expires)).await.unwrap()
}

fn only(group: Group) -> Selection {
    Selection { groups: vec![group], ..Selection::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_server_passes_every_case() {
    let report = run(None, &Selection::default()).await;
    for result in &report.results {
        let is_expiry = result.case.group() == Group::Expiry;
        let is_skipped = matches!(result.outcome, Outcome::Skipped(_));
        assert!(result.outcome == Outcome::Passed || (is_expiry && is_skipped), "{report}");
    }
    assert!(report.results.len() >= 60, "{} cases", report.results.len());
    let report = run(None, &only(Group::Expiry)).await;
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Passed), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_defect_is_found_by_the_case_that_is_meant_for_it() {
    for defect in Defect::VARIANTS {
        let selection = Selection { numbers: vec![defect.case()], ..Selection::default() };
        let report = run(Some(*defect), &selection).await;
        assert_eq!(report.failed().count(), 1, "case {} does not find {defect}: {report}", defect.case());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_that_the_target_file_names_is_no_failure_and_one_that_is_gone_is() {
    let control = Control::start(Some(Defect::DoesNotMarkReplays), LONG).await;
    let selection = Selection { numbers: vec![203, 302], ..Selection::default() };
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls/control.toml"))
            .unwrap();
    let text = format!("{text}\n[differs]\n203 = \"no marks\"\n302 = \"passes\"\n");
    let given = [("FIRST", &*control.urls[0]), ("SECOND", ""), ("PORT", ""), ("EXPIRES", "")];
    let given: BTreeMap<String, String> =
        given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let report = Suite::of(&selection).run(&Target::parse(&text, &given).unwrap()).await.unwrap();
    let outcomes: Vec<String> = report.results.iter().map(|result| result.outcome.to_string()).collect();
    assert_eq!(outcomes, ["differs", "failed"], "{report}");
}
