//! Each migration of a database has a version of its own. Of two migrations with one version, only one is applied, without an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The names of the migrations in a folder.
fn names(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(folder);
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The version of a migration: the digits before its name.
fn version(name: &str) -> String {
    let (version, _) = name.split_once('_').unwrap_or_else(|| panic!("{name} has no version"));
    version.replace('-', "")
}

#[test]
fn each_migration_of_a_database_has_a_version_of_its_own() {
    for service in architecture::services::names().unwrap() {
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
