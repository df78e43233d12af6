//! Each migration of a database has a version of its own, and so has each that a diff of docs/how-to adds. Of two migrations with one
//! version, only one is applied, without an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the migrations in a folder, and of those that the diffs add to it.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("migrations").join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.chain(added_by_diffs(folder)).collect()
}

/// A project that was made from this one has no diffs.
fn added_by_diffs(folder: &str) -> Vec<String> {
    let diffs = fs::read_dir(root().join("docs/how-to")).into_iter().flatten();
    let diffs = diffs.map(|diff| fs::read_to_string(diff.unwrap().path()).unwrap());
    let file = format!("+++ b/migrations/{folder}/");
    diffs
        .flat_map(|diff| {
            diff.lines()
                .filter_map(|line| line.strip_prefix(&file)?.split('/').next().map(str::to_owned))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The version of a migration: the digits before its name.
fn version(name: &str) -> String {
    let (version, _) = name.split_once('_').unwrap_or_else(|| panic!("{name} has no version"));
    version.replace('-', "")
}

#[test]
fn each_migration_of_a_database_has_a_version_of_its_own() {
    for service in architecture::services::names() {
        // The migrations of `reliability` are applied to the database of each service.
        let mut versions = BTreeMap::new();
        for name in names("reliability").into_iter().chain(names(&service)) {
            if let Some(other) = versions.insert(version(&name), name.clone()) {
                panic!("{service}: {name} and {other} have one version, and only one of them is applied");
            }
        }
        assert!(versions.len() > 5, "{service} has {} migrations: were they read?", versions.len());
    }
}
