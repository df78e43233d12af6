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
    crashpoint::reach!("e1");
    crashpoint::reach!("e2");
    crashpoint::reach!("e3");
    crashpoint::reach!("e4");
    crashpoint::reach!("r1");
    crashpoint::reach!("r2");
    crashpoint::reach!("r3");
    crashpoint::reach!("r4");
    crashpoint::reach!("c1");
    crashpoint::reach!("c2");
    crashpoint::reach!("c3");
    crashpoint::reach!("c4");
    crashpoint::reach!("c5");
    crashpoint::reach!("c6");
    crashpoint::reach!("p1");
    crashpoint::reach!("p2");
    crashpoint::reach!("p3");
    crashpoint::reach!("p4");
    crashpoint::reach!("w1");
    crashpoint::reach!("w2");
    crashpoint::reach!("w3");
    crashpoint::reach!("k1");
    crashpoint::reach!("k2");
    crashpoint::reach!("k3");
    crashpoint::reach!("t1");
    crashpoint::reach!("d1");
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
