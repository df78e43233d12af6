//! The programs under test have every crash point, and take none that does not exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use e2e::{Options, Stack, crash_points};
use testkit::given;

/// The marks in a program's file.
fn places(program: &str) -> BTreeSet<String> {
    let file = Path::new(&given("IDEM_BIN_DIR")).join(program);
    let grep =
        Command::new("grep").args(["-aoE", "idem-crash-point:[a-z][0-9]"]).arg(&file).output().unwrap();
    // 1: it has looked, and found nothing.
    assert!(matches!(grep.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&grep.stderr));
    let found = String::from_utf8(grep.stdout).unwrap();
    found.lines().filter_map(|mark| Some(mark.split_once(':')?.1.to_owned())).collect()
}

#[test]
fn the_programs_under_test_have_every_crash_point_and_the_provider_none() {
    let found: BTreeSet<String> = ["orders", "payments", "inventory"].into_iter().flat_map(places).collect();
    let all: BTreeSet<String> = crash_points().into_iter().map(str::to_owned).collect();
    assert_eq!(found, all, "were the programs built with crash points?");
    assert_eq!(places("stripe-sim"), BTreeSet::new(), "it is somebody else's system");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_point_that_does_not_exist_is_refused_at_the_start() {
    let mut stack = Stack::prepared(Options::default()).await;
    for wrong in ["execute.nowhere", "execute.after_commit:0", "execute.after_commit:first"] {
        stack.launch("orders", &[("IDEM_CRASH", wrong)]);
        assert_eq!(stack.program("orders").ended().await.code(), Some(2), "{wrong}");
        let said = stack.program("orders").log();
        assert!(said.contains(wrong) && crash_points().iter().all(|name| said.contains(name)), "{said}");
    }
}
