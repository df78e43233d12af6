#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Finds the marks of crash points in the bytes of this program, which contains every crash point. Built with the
//! feature, it must find every mark. Then it builds itself without the feature, and must find none.

use std::collections::BTreeSet;
use std::env::current_exe;
use std::fs;

/// Every place, as in a program that has them all.
fn everywhere() {
    crashpoint::reach!("execute.key_claimed");
    crashpoint::reach!("execute.command_done");
    crashpoint::reach!("execute.before_commit");
    crashpoint::reach!("execute.after_commit");
    crashpoint::reach!("fence.before_commit");
    crashpoint::reach!("fence.after_commit");
    crashpoint::reach!("relay.page_read");
    crashpoint::reach!("relay.message_sent");
    crashpoint::reach!("relay.before_checkpoint");
    crashpoint::reach!("relay.after_checkpoint");
    crashpoint::reach!("consume.batch_received");
    crashpoint::reach!("consume.aggregates_locked");
    crashpoint::reach!("consume.before_commit");
    crashpoint::reach!("consume.after_commit");
    crashpoint::reach!("consume.batch_done");
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

/// Returns the text behind each mark in this program. The mark is assembled here, so the search does not find itself.
/// Texts lie in a program without separators, so a name may be followed by other text.
fn marked() -> BTreeSet<String> {
    let mark = ["idem", "crash", "point:"].join("-");
    let program = fs::read(current_exe().unwrap()).unwrap();
    let places = program.windows(mark.len()).enumerate().filter(|(_, bytes)| *bytes == mark.as_bytes());
    let is_of_a_name = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_');
    let behind = places.map(|(at, _)| program[at + mark.len()..].iter().copied().take_while(is_of_a_name));
    behind
        .map(|bytes| String::from_utf8(bytes.collect()).unwrap())
        .filter(|text| text.contains('.'))
        .collect()
}

#[test]
#[cfg(not(feature = "enabled"))]
fn without_the_feature_there_is_no_crash_point() {
    everywhere();
    assert_eq!(marked(), BTreeSet::new());
}

#[test]
#[cfg(feature = "enabled")]
fn the_crash_points_exist_only_with_the_feature() {
    everywhere();
    let marked = marked();
    for name in crashpoint::NAMES {
        assert!(marked.iter().any(|text| text.starts_with(name)), "{name} is not marked: {marked:?}");
    }
    for text in &marked {
        assert!(crashpoint::NAMES.iter().any(|name| text.starts_with(name)), "{text} is marked, and no name");
    }

    // In a folder of its own: the programs under test keep their crash points.
    let folder = current_exe().unwrap().parent().unwrap().join("../../without-crash-points");
    let build = std::process::Command::new(env!("CARGO"))
        .args(["test", "--locked", "--offline", "-p", "idem-crashpoint", "--test", "marks", "--target-dir"])
        .arg(folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let output =
        String::from_utf8_lossy(&build.stdout).into_owned() + &String::from_utf8_lossy(&build.stderr);
    assert!(build.status.success(), "{output}");
    assert!(output.contains("without_the_feature_there_is_no_crash_point ... ok"), "{output}");
}
