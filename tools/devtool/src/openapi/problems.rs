//! The components of problems: those that operations refer to, with examples.

use serde_json::{Map, Value};

use super::PROBLEM;
use super::document::{members, references};
use super::examples::named;

/// Removes the components that nothing refers to, and shows the shared responses by examples, which are named by code.
pub(super) fn prune_problems(document: &mut Value, examples: &Value) {
    // A union refers to its problems, so that its removal can end the use of others.
    for _ in 0..2 {
        let used = references(document);
        let components = &mut document["components"];
        members(&mut components["responses"])
            .retain(|name, _| used.contains(&format!("#/components/responses/{name}")));
        let is_used = |name: &String| used.contains(&format!("#/components/schemas/{name}"));
        members(&mut components["schemas"]).retain(|name, _| !name.ends_with("Problem") || is_used(name));
    }
    let components = members(&mut document["components"]);
    let schemas = components["schemas"].clone();
    for response in members(&mut components["responses"]).values_mut() {
        let reference = response["content"][PROBLEM]["schema"]["$ref"].as_str().unwrap_or_default();
        let schema = &schemas[reference.trim_start_matches("#/components/schemas/")];
        let seen: Map<String, Value> = codes(schema)
            .into_iter()
            .filter_map(|code| Some((code.clone(), examples.get(&code)?.clone())))
            .collect();
        if !seen.is_empty() {
            response["content"][PROBLEM]["examples"] = named(&seen.into());
        }
    }
}

/// The code of a problem's schema, or the codes of a union.
fn codes(schema: &Value) -> Vec<String> {
    let single = schema.pointer("/properties/code/const").and_then(Value::as_str).map(str::to_owned);
    let union = schema.pointer("/discriminator/mapping").and_then(Value::as_object);
    single.into_iter().chain(union.into_iter().flat_map(|mapping| mapping.keys().cloned())).collect()
}
