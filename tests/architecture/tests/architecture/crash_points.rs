//! Shipped programs have no crash points. Only the services' feature `crash-points` enables them. It is in no default
//! feature and in no command that builds shipped programs.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};

/// The features that enable crash points, by package.
fn switches() -> BTreeSet<(String, &'static str)> {
    let services = architecture::services::folders().into_iter();
    let switches = services.map(|(service, _)| (service.to_owned(), "crash-points"));
    switches.chain([("idem-crashpoint".to_owned(), "enabled")]).collect()
}

/// Returns the ways in which a build gets crash points without naming the feature.
fn violations(metadata: &Metadata) -> Vec<String> {
    let switches = switches();
    let is_switch = |package: &str, feature: &str| {
        switches.iter().any(|(name, switch)| (name.as_str(), *switch) == (package, feature))
    };
    let mut found = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        for (feature, turns_on) in &package.features {
            let opens = turns_on.iter().any(|it| {
                it.starts_with("crashpoint/")
                    || it.starts_with("crashpoint?/")
                    || it.ends_with("crash-points")
                    || (name == "crashpoint" && it == "enabled")
            });
            if opens && !is_switch(name, feature) {
                found.push(format!("{name}'s feature {feature} enables crash points: {turns_on:?}"));
            }
        }
        for dependency in &package.dependencies {
            for feature in &dependency.features {
                if is_switch(&dependency.name, feature) {
                    found.push(format!("{name} depends on {} with {feature}", dependency.name));
                }
            }
        }
    }
    found
}

fn metadata() -> Metadata {
    MetadataCommand::new().other_options(["--locked".to_owned()]).exec().expect("cargo metadata")
}

#[test]
fn crash_points_are_in_no_build_that_does_not_name_them() {
    let mut metadata = metadata();
    assert_eq!(violations(&metadata), Vec::<String>::new());
    for (package, feature) in switches() {
        let package =
            metadata.workspace_packages().into_iter().find(|it| it.name.as_str() == package).unwrap();
        assert!(package.features.contains_key(feature), "{} has no feature {feature}", package.name);
    }
    // A planted violation is found.
    let orders = metadata.packages.iter_mut().find(|it| it.name.as_str() == "orders").unwrap();
    orders.features.insert("default".to_owned(), vec!["crash-points".to_owned()]);
    assert_eq!(violations(&metadata).len(), 1);
}

#[test]
fn shipped_programs_are_built_without_any_feature() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dockerfile = std::fs::read_to_string(root.join("Dockerfile")).unwrap();
    let joined = dockerfile.replace("\\\n", " ");
    let builds: Vec<&str> = joined.lines().filter(|line| line.contains("cargo build")).collect();
    assert!(!builds.is_empty(), "the Dockerfile builds nothing with cargo");
    assert!(dockerfile.contains("\nARG PROFILE=release\n"), "another profile must be asked for");
    for build in builds {
        let is_plain = !build.contains("features") && !build.contains(" -F");
        assert!(build.contains("--profile \"$PROFILE\"") && is_plain, "{build}");
    }
}
