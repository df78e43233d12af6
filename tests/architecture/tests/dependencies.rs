#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The dependencies of the workspace keep the rules of `src/rules.rs`.

use architecture::graph::Graph;
use architecture::rules::violations;
use cargo_metadata::MetadataCommand;

#[test]
fn the_workspace_keeps_the_rules() {
    let metadata =
        MetadataCommand::new().other_options(["--locked".to_owned()]).exec().expect("cargo metadata");
    let graph = Graph::of(&metadata);
    assert!(graph.ours.contains_key("contracts"), "cargo did not name our packages: {:?}", graph.ours);
    assert!(graph.reaches("orders").contains("actix-web"), "cargo did not resolve the dependencies");
    let found = violations(&graph);
    assert!(found.is_empty(), "forbidden dependencies:\n  {}", found.join("\n  "));
}
