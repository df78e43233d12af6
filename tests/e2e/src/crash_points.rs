//! The names of the crash points, by the table that people read.

use std::collections::BTreeSet;

/// Those that the README of `shared/crashpoint` lists. The crate itself cannot be asked: with its feature on for a test,
/// cargo would turn it on for every program in the same build.
pub fn crash_points() -> BTreeSet<&'static str> {
    let readme = include_str!("../../../shared/crashpoint/README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`'));
    names.map(str::trim).filter(|name| !name.is_empty()).collect()
}
