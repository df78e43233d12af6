//! Completes the document that utoipa writes: the components of problems and headers, and what every response carries.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::document::{members, operations, references};
use super::examples::{SHARED, add_examples, named};
use super::links::add_links;
use super::problem_components::{GROUPS, camel_case, capitalised, response, schema, schema_name, union};
use super::webhooks::move_webhooks;
use crate::{ProblemType, problem_types};

/// The document as it is published, with its members sorted. `own` are the problems that only this service has, and `examples` is
/// the JSON of its examples.
pub fn publish(document: &OpenApi, own: &[&'static ProblemType], examples: &str) -> Value {
    let examples: Value = serde_json::from_str(examples).unwrap_or_default();
    let mut document = json!(document);
    name_pages(&mut document);
    add_links(&mut document);
    let mut unions = Map::new();
    for operation in operations(&mut document) {
        name_scope(operation);
        name_unions(operation, &mut unions);
        add_headers(operation);
    }
    let components = &mut document["components"];
    components["headers"] = headers();
    components["securitySchemes"]["bearer"] = json!({
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of the issuer. Its claims name tenant, client and scopes.",
    });
    members(&mut components["schemas"]).append(&mut unions);
    add_problems(&mut document, own, &examples[SHARED]);
    add_examples(&mut document, &examples);
    add_tags(&mut document);
    move_webhooks(&mut document);
    document.sort_all_objects();
    document
}

/// A scope stands in the description, and for programs in `x-required-scope`: a scheme of type `http` lists none.
fn name_scope(operation: &mut Value) {
    let Some(scope) = operation.pointer_mut("/security/0/bearer/0").map(Value::take) else { return };
    operation["security"][0]["bearer"] = json!([]);
    let sentence = format!("The token needs the scope `{}`.", scope.as_str().unwrap_or_default());
    let description = operation["description"].as_str().map(|text| format!("{text}\n\n{sentence}"));
    operation["description"] = json!(description.unwrap_or(sentence));
    operation["x-required-scope"] = scope;
}

/// `OrderList` is a page of `Order`. utoipa calls it `Listing_Order`, and repeats the order's schema in it.
fn name_pages(document: &mut Value) {
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
fn name_unions(operation: &mut Value, unions: &mut Map<String, Value>) {
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

/// Adds the headers that every response carries, and those of a command with a key. `x-idempotency-key` says for programs
/// whether a command takes one.
fn add_headers(operation: &mut Value) {
    let parameters = operation["parameters"].as_array();
    let is_keyed = parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "Idempotency-Key"));
    let declared = if is_keyed { "required" } else { "unsupported" };
    let is_command = operation["requestBody"].is_object() && operation["security"][0]["bearer"].is_array();
    if is_command {
        operation["x-idempotency-key"] = json!(declared);
    }
    for (_, response) in members(&mut operation["responses"]) {
        if response["$ref"].is_string() {
            continue; // the component has its headers
        }
        let always = ["X-Request-Id", "Cache-Control"];
        let keyed = ["Idempotency-Status", "Idempotent-Replayed", "Idempotency-Original-Date"];
        let of_key = match (is_keyed, is_command) {
            (true, _) => &keyed[..],
            (false, true) => &keyed[..1],
            (false, false) => &[],
        };
        for name in always.iter().chain(of_key) {
            response["headers"][*name] = json!({ "$ref": format!("#/components/headers/{name}") });
        }
    }
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

/// Adds the components of problems that operations refer to.
fn add_problems(document: &mut Value, own: &[&'static ProblemType], examples: &Value) {
    let kinds = || problem_types::ALL.iter().chain(own);
    let single = kinds().map(|kind| (camel_case(kind), vec![*kind], schema_name(kind)));
    let groups = GROUPS.iter();
    let groups = groups.map(|g| (g.name.to_owned(), g.kinds.to_vec(), format!("{}Problem", g.name)));
    let used = references(document);
    for (name, of, schema) in single.chain(groups) {
        if !used.contains(&format!("#/components/responses/{name}")) {
            continue;
        }
        let examples =
            of.iter().filter_map(|kind| Some((kind.code.to_owned(), examples.get(kind.code)?.clone())));
        document["components"]["responses"][name] = response(&of, &schema, &named(&examples.collect()));
        if of.len() > 1 {
            document["components"]["schemas"][schema] = json!(union(&of));
        }
    }
    let used = references(document);
    for kind in kinds().filter(|kind| used.contains(&format!("#/components/schemas/{}", schema_name(kind)))) {
        document["components"]["schemas"][schema_name(kind)] = schema(kind);
    }
}

fn headers() -> Value {
    let text = |description: &str, example: &str| {
        json!({
            "description": description,
            "schema": { "type": "string", "examples": [example] },
        })
    };
    let one_of = |description: &str, values: &[&str]| {
        json!({
            "description": description,
            "schema": { "type": "string", "enum": values },
        })
    };
    json!({
        "X-Request-Id": {
            "description": "The id of this request in the log; a replay has its own.",
            "schema": { "type": "string", "format": "uuid" },
        },
        "Cache-Control": one_of("Responses depend on the caller.", &["no-store"]),
        "Link": text("The explanation of the problem.", "</problems/forbidden>; rel=\"describedby\""),
        "WWW-Authenticate": text(
            "The token that is needed, and what is wrong with the one that was sent (RFC 6750).",
            "Bearer error=\"insufficient_scope\", scope=\"orders:write\"",
        ),
        "Retry-After": {
            "description": "Seconds after which the same request may be sent again.",
            "schema": { "type": "integer", "minimum": 1 },
        },
        "Idempotency-Status": one_of(
            "Whether this request was executed, or its key's stored response is sent again; `ignored` if the command takes no \
             key, and the request has one.",
            &["executed", "replayed", "ignored"],
        ),
        "Idempotent-Replayed": one_of("Present if the response is a replay.", &["true"]),
        "Idempotency-Original-Date": {
            "description": "When the replayed response was stored.",
            "schema": { "type": "string", "format": "date-time" },
        },
    })
}
