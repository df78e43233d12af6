//! Completes the OpenAPI document that a service describes: names, links, examples, and what every response carries.
//!
//! The service serves the completed file, so that none of this is in a running process.

mod document;
mod examples;
mod headers;
mod links;
mod names;
mod problems;
mod webhooks;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::Result;
use document::{members, operations};

/// The media type of a problem.
const PROBLEM: &str = "application/problem+json";

/// Prints the completed document of a service's program. `examples` is the file of its examples.
pub(crate) fn print(program: &Path, examples: &Path) -> Result<()> {
    let described = Command::new(program)
        .args(["openapi", "--described"])
        .output()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !described.status.success() {
        return Err(format!("{} openapi: {}", program.display(), String::from_utf8_lossy(&described.stderr)));
    }
    let parsed = |bytes: &[u8], what: &Path| {
        serde_json::from_slice(bytes).map_err(|error| format!("{} is not JSON: {error}", what.display()))
    };
    let text =
        std::fs::read(examples).map_err(|error| format!("cannot read {}: {error}", examples.display()))?;
    let document = complete(parsed(&described.stdout, program)?, &parsed(&text, examples)?);
    println!("{document:#}");
    Ok(())
}

/// The document as it is published, with its members sorted.
fn complete(mut document: Value, examples: &Value) -> Value {
    names::name_pages(&mut document);
    links::add_links(&mut document);
    let mut unions = serde_json::Map::new();
    for operation in operations(&mut document) {
        names::name_scope(operation);
        names::name_unions(operation, &mut unions);
        headers::add_headers(operation);
    }
    let components = &mut document["components"];
    components["headers"] = headers::headers();
    components["securitySchemes"]["bearer"] = json!({
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of the issuer. Its claims name tenant, client and scopes.",
    });
    members(&mut components["schemas"]).append(&mut unions);
    problems::prune_problems(&mut document, &examples[examples::SHARED]);
    examples::add_examples(&mut document, examples);
    add_tags(&mut document);
    webhooks::move_webhooks(&mut document);
    document.sort_all_objects();
    document
}

/// Describes the tags of the routes that every service has.
fn add_tags(document: &mut Value) {
    let used: BTreeSet<String> = operations(document)
        .flat_map(|operation| operation["tags"].as_array().cloned().unwrap_or_default())
        .filter_map(|tag| tag.as_str().map(str::to_owned))
        .collect();
    let common = [
        ("idempotency-keys", "Read what is known of a key"),
        ("operations", "Read the outcome of a command that takes long"),
    ];
    let common = common.into_iter().filter(|(name, _)| used.contains(*name));
    let common = common.map(|(name, description)| json!({ "name": name, "description": description }));
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.extend(common);
    }
}
