//! The programs under test have every crash point, and refuse an unknown one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use e2e::{Options, Part, Stack, crash_points};
use testkit::given;

/// The crash points in the file of a program.
fn crash_points_in(part: Part) -> BTreeSet<String> {
    let file = Path::new(&given("IDEM_BIN_DIR")).join(part.program());
    // Each name is spelled out, because texts lie in a program without separators.
    let pattern =
        format!("idem-crash-point:({})", Vec::from_iter(crash_points()).join("|").replace('.', r"\."));
    let grep = Command::new("grep").args(["-aoE", &pattern]).arg(&file).output().unwrap();
    // grep returns 1 if nothing matches.
    assert!(matches!(grep.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&grep.stderr));
    let found = String::from_utf8(grep.stdout).unwrap();
    found.lines().filter_map(|mark| Some(mark.split_once(':')?.1.to_owned())).collect()
}

#[test]
fn the_services_under_test_have_every_crash_point_and_other_programs_none() {
    let found: BTreeSet<String> = Part::SERVICES.into_iter().flat_map(crash_points_in).collect();
    let expected: BTreeSet<String> = crash_points().into_iter().map(str::to_owned).collect();
    assert_eq!(found, expected, "were the programs built with crash points?");
    for part in Part::PROGRAMS.into_iter().filter(|part| !part.is_service()) {
        assert_eq!(crash_points_in(part), BTreeSet::new(), "{part:?} stands for another system");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_point_that_does_not_exist_is_refused_at_the_start() {
    let mut stack = Stack::prepared(Options::default()).await;
    for wrong in ["execute.nowhere", "execute.after_commit:0", "execute.after_commit:first"] {
        stack.launch("orders", &[("IDEM_CRASH", wrong)]);
        assert_eq!(stack.program("orders").ended().await.unwrap().code(), Some(2), "{wrong}");
        let log = stack.program("orders").log();
        assert!(log.contains(wrong) && crash_points().iter().all(|name| log.contains(name)), "{log}");
    }
}
