#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! A program's bytes tell whether it can be crashed: this one holds every place, and looks at itself. Built with the
//! feature it must find every mark, and then it has itself built without, where it must find none.

use std::collections::BTreeSet;
use std::env::current_exe;
use std::fs;

/// Every place, as in a program that has them all.
fn everywhere() {
    crashpoint::reach!("execute.key_claimed");
    crashpoint::reach!("execute.command_done");
    crashpoint::reach!("execute.before_commit");
    crashpoint::reach!("execute.after_commit");
    crashpoint::reach!("relay.window_read");
    crashpoint::reach!("relay.message_sent");
    crashpoint::reach!("relay.before_checkpoint");
    crashpoint::reach!("relay.after_checkpoint");
    crashpoint::reach!("consume.batch_received");
    crashpoint::reach!("consume.ids_entered");
    crashpoint::reach!("consume.before_commit");
    crashpoint::reach!("consume.after_commit");
    crashpoint::reach!("consume.offset_stored");
    crashpoint::reach!("consume.partitions_revoked");
    crashpoint::reach!("charge.attempt_committed");
    crashpoint::reach!("charge.request_sent");
    crashpoint::reach!("charge.response_read");
    crashpoint::reach!("charge.outcome_recorded");
    crashpoint::reach!("webhook.event_verified");
    crashpoint::reach!("webhook.before_commit");
    crashpoint::reach!("webhook.after_commit");
    crashpoint::reach!("refund.attempt_committed");
    crashpoint::reach!("refund.request_sent");
    crashpoint::reach!("refund.outcome_recorded");
    crashpoint::reach!("expire.order_picked");
    crashpoint::reach!("shutdown.draining");
}

/// The names that stand behind the mark in this program. The mark is put together here, lest it find itself.
fn marked() -> BTreeSet<String> {
    let mark = ["idem", "crash", "point:"].join("-");
    let program = fs::read(current_exe().unwrap()).unwrap();
    let places = program.windows(mark.len() + 2).filter(|bytes| bytes.starts_with(mark.as_bytes()));
    let names = places.map(|bytes| String::from_utf8_lossy(&bytes[mark.len()..]).into_owned());
    names
        .filter(|name| {
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.ends_with(|c: char| c.is_ascii_digit())
        })
        .collect()
}

#[test]
#[cfg(not(feature = "enabled"))]
fn without_the_feature_there_is_no_mark() {
    everywhere();
    assert_eq!(marked(), BTreeSet::new());
}

#[test]
#[cfg(feature = "enabled")]
fn the_marks_are_where_the_feature_is_and_nowhere_else() {
    everywhere();
    assert_eq!(marked(), crashpoint::NAMES.iter().map(|name| (*name).to_owned()).collect());

    // In a folder of its own: the programs under test keep their crash points.
    let folder = current_exe().unwrap().parent().unwrap().join("../../without-crash-points");
    let build = std::process::Command::new(env!("CARGO"))
        .args(["test", "--locked", "--offline", "-p", "crashpoint", "--test", "marks", "--target-dir"])
        .arg(folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&build.stdout).into_owned() + &String::from_utf8_lossy(&build.stderr);
    assert!(build.status.success(), "{said}");
    assert!(said.contains("without_the_feature_there_is_no_mark ... ok"), "{said}");
}
