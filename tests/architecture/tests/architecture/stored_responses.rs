//! docs/operations.md, or the README of its service, says what the stored response of each keyed operation holds, and of no other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The rows of the table, by operation: the texts of clients that it names.
fn documented(page: &str) -> BTreeMap<String, String> {
    let section = page.split("## What is kept of a request").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(operation, texts)| (operation.to_owned(), texts.to_owned())).collect()
}

/// The members of a success that a request has, too, and that are free text.
fn texts(request: &Value, success: &Value, found: &mut Vec<String>) {
    let Some(members) = success.as_object() else { return };
    for (name, value) in members {
        if value.is_string() && request.get(name) == Some(value) && name != "sku" {
            found.push(name.clone());
        }
        texts(request, value, found);
    }
}

#[test]
fn the_texts_in_each_stored_response_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read =
        |path: String| serde_json::from_str::<Value>(&fs::read_to_string(root.join(path)).unwrap()).unwrap();
    let page = |path: String| documented(&fs::read_to_string(root.join(path)).unwrap());
    let mut documented = page("docs/operations.md".to_owned());
    documented.extend(
        architecture::services::names().iter().flat_map(|name| page(format!("services/{name}/README.md"))),
    );
    for service in architecture::services::names() {
        let (document, examples) =
            (read(format!("openapi/{service}.json")), read(format!("services/{service}/examples.json")));
        let items = document["paths"].as_object().unwrap().values();
        let operations = items.flat_map(|item| item.as_object().unwrap().values());
        for operation in operations.filter(|operation| operation["x-idempotency-key"] == "required") {
            let name = operation["operationId"].as_str().unwrap();
            let row = documented.remove(name).unwrap_or_else(|| panic!("{name} is not in the table"));
            let example = &examples[name];
            let mut found = Vec::new();
            for status in ["200", "201"] {
                texts(&example["request"], &example[status], &mut found);
            }
            for member in found {
                assert!(row.contains(&format!("`{member}`")), "{name} stores {member}: {row}");
            }
        }
    }
    assert!(documented.is_empty(), "no operation with a key has these names: {:?}", documented.keys());
}
