//! Parts of an OpenAPI document in its JSON form.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The members of an object; any other value becomes an empty object.
pub(super) fn members(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(members) => members,
        _ => unreachable!("an object was just made"),
    }
}

/// The operations of all paths.
pub(super) fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    paths
        .filter_map(Value::as_object_mut)
        .flat_map(Map::values_mut)
        .filter(|item| item["responses"].is_object())
}

/// The components that a value refers to, each as `#/components/…`.
pub(super) fn references(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => BTreeSet::new(),
    }
}
