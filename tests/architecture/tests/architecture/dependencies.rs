//! The dependencies of the workspace keep the rules of `src/rules.rs`.

use architecture::graph::Graph;
use architecture::rules::violations;
use cargo_metadata::{Metadata, MetadataCommand};

pub(crate) fn metadata() -> Metadata {
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
