//! Names for what utoipa leaves without: pages, the unions of an operation's problems, and scopes.

use serde_json::{Map, Value, json};

use super::document::members;

/// `OrderList` is a page of `Order`. utoipa calls it `Listing_Order`, and repeats the order's schema in it.
pub(super) fn name_pages(document: &mut Value) {
    let schemas = members(&mut document["components"]["schemas"]);
    let generic: Vec<String> =
        schemas.keys().filter(|name| name.starts_with(GENERIC_PAGE)).cloned().collect();
    for name in generic {
        let entry = &name[GENERIC_PAGE.len()..];
        let mut page = schemas.remove(&name).unwrap_or_default();
        page["properties"]["data"]["items"] = json!({ "$ref": format!("#/components/schemas/{entry}") });
        schemas.insert(format!("{entry}List"), page);
    }
    rename_references(document);
}

const GENERIC_PAGE: &str = "Listing_";

fn rename_references(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some((path, entry)) = reference.split_once(GENERIC_PAGE)
            {
                *reference = format!("{path}{entry}List");
            }
            members.values_mut().for_each(rename_references);
        }
        Value::Array(items) => items.iter_mut().for_each(rename_references),
        _ => {}
    }
}

/// Gives the union of an operation's problems a name, such as `CancelOrderConflict`. Generators then make one type of it.
pub(super) fn name_unions(operation: &mut Value, unions: &mut Map<String, Value>) {
    let id = capitalised(operation["operationId"].as_str().unwrap_or_default());
    for (status, response) in members(&mut operation["responses"]) {
        let Some(schema) = response.pointer_mut(PROBLEM_SCHEMA).filter(|schema| schema["oneOf"].is_array())
        else {
            continue;
        };
        let name = format!("{id}{}", reason(status));
        let union = schema.take();
        *schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        unions.insert(name, union);
    }
}

/// Where a response has the schema of its problem.
const PROBLEM_SCHEMA: &str = "/content/application~1problem+json/schema";

fn reason(status: &str) -> &'static str {
    match status {
        "400" => "BadRequest",
        "409" => "Conflict",
        "422" => "Unprocessable",
        "500" => "Failure",
        "503" => "Unavailable",
        _ => "Problem",
    }
}

/// A scope stands in the description, and for programs in `x-required-scope`: a scheme of type `http` lists none.
pub(super) fn name_scope(operation: &mut Value) {
    let Some(scope) = operation.pointer_mut("/security/0/bearer/0").map(Value::take) else { return };
    operation["security"][0]["bearer"] = json!([]);
    let sentence = format!("The token needs the scope `{}`.", scope.as_str().unwrap_or_default());
    let description = operation["description"].as_str().map(|text| format!("{text}\n\n{sentence}"));
    operation["description"] = json!(description.unwrap_or(sentence));
    operation["x-required-scope"] = scope;
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
