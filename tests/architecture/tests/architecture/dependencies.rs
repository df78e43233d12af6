//! The dependencies of the workspace keep the rules of `src/rules.rs`.

use std::fs;
use std::path::Path;

use architecture::graph::Graph;
use architecture::rules::violations;
use cargo_metadata::{Metadata, MetadataCommand};

fn metadata() -> Metadata {
    MetadataCommand::new().other_options(["--locked".to_owned()]).exec().expect("cargo metadata")
}

#[test]
fn the_workspace_keeps_the_rules() {
    let metadata = metadata();
    let graph = Graph::of(&metadata);
    assert!(graph.ours.contains_key("contracts"), "cargo did not name our packages: {:?}", graph.ours);
    assert!(graph.reaches("orders").contains("actix-web"), "cargo did not resolve the dependencies");
    let found = violations(&graph);
    assert!(found.is_empty(), "forbidden dependencies:\n  {}", found.join("\n  "));
}

/// Cargo compiles a crate with the features that any member of the workspace asks for, an example or a test too.
#[test]
fn no_member_brings_http_2_into_the_services() {
    let metadata = metadata();
    let actix = metadata.packages.iter().find(|package| package.name.as_str() == "actix-web").unwrap();
    assert!(actix.features.contains_key("http2"), "the feature has another name by now");
    let resolved = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let node = resolved.into_iter().find(|node| node.id == actix.id).unwrap();
    let features: Vec<String> = node.features.iter().map(ToString::to_string).collect();
    assert!(!features.contains(&"http2".to_owned()), "actix-web is compiled with {features:?}");
}

/// The lab shows what everybody can see: HTTP, `/metrics`, `operator` and `./dev`. The harness could read more for it.
#[test]
fn the_lab_reads_no_database_and_no_topic_itself() {
    let graph = Graph::of(&metadata());
    let used = &graph.normal["lab"];
    for driver in ["audits", "database", "diesel", "diesel-async", "messaging", "rdkafka", "tokio-postgres"] {
        assert!(!used.contains(driver), "lab uses {driver}");
    }
    let mut sources = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/lab/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { sources.push(path) }
        }
    }
    assert!(sources.len() > 10, "{sources:?}");
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let reader = words.find(|word| ["Books", "Positions", "Session"].contains(word));
        assert_eq!(reader, None, "{}", source.display());
    }
}
