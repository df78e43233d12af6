//! The OpenAPI documents name every route, tell generators how to tell problems apart, and refer to what they have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(service: &str) -> Value {
    let file = root().join("openapi").join(format!("{service}.json"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap()
}

/// The paths that a source file mounts: the texts of `#[get("…")]` and its siblings.
fn routes(source: &str) -> Vec<&str> {
    let mounts = ["#[get(\"", "#[post(\"", "#[put(\"", "#[patch(\"", "#[delete(\""];
    let lines = source.lines().map(str::trim);
    lines
        .filter_map(|line| mounts.iter().find_map(|mount| line.strip_prefix(mount)?.split('"').next()))
        .collect()
}

#[test]
fn each_route_of_a_service_is_in_its_document() {
    let mut found = 0;
    for service in architecture::services::names() {
        let document = document(&service);
        let introduction = document["info"]["description"].as_str().unwrap_or_default();
        for file in fs::read_dir(architecture::services::folder().join(&service).join("src/api")).unwrap() {
            let source = fs::read_to_string(file.unwrap().path()).unwrap();
            for route in routes(&source) {
                found += 1;
                // A reader of `paths` does not see `webhooks`, so the introduction names such a route.
                let is_named = document["paths"][route].is_object() || introduction.contains(route);
                assert!(
                    is_named,
                    "openapi/{service}.json has {route} neither in `paths` nor in its introduction"
                );
            }
        }
    }
    assert!(found > 10, "{found} routes were found: were the sources read?");
}

#[test]
fn each_union_of_problems_has_a_discriminator_that_maps_every_code() {
    let mut found = 0;
    for service in architecture::services::names() {
        let document = document(&service);
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (name, schema) in schemas {
            for alternative in schema["oneOf"].as_array().into_iter().flatten() {
                let Some(reference) = alternative["$ref"].as_str().filter(|it| it.ends_with("Problem"))
                else {
                    continue;
                };
                found += 1;
                let problem = document.pointer(reference.trim_start_matches('#')).unwrap();
                let code = problem["properties"]["code"]["const"].as_str().unwrap();
                let discriminator = &schema["discriminator"];
                let mapped = (&discriminator["propertyName"], &discriminator["mapping"][code]);
                assert_eq!(mapped, (&"code".into(), &reference.into()), "{service}: {name}, {code}");
            }
        }
    }
    assert!(found > 20, "{found} alternatives were found: were the documents read?");
}

#[test]
fn every_reference_leads_somewhere_and_no_component_of_a_problem_is_unused() {
    for service in architecture::services::names() {
        let document = document(&service);
        let text = document.to_string();
        let used: BTreeSet<&str> =
            text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(used.len() > 20, "{service} has {} references", used.len());
        for reference in &used {
            assert!(document.pointer(reference).is_some(), "{service}: {reference}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            let reference = format!("/components/schemas/{name}");
            assert!(!name.ends_with("Problem") || used.contains(reference.as_str()), "{service}: {name}");
        }
    }
}

#[test]
fn lists_refer_to_their_entries_and_a_response_links_to_the_operation_that_reads_its_result() {
    let document = document("orders");
    let entries = &document["components"]["schemas"]["OrderList"]["properties"]["data"]["items"];
    assert_eq!(entries, &json!({ "$ref": "#/components/schemas/Order" }));
    let links = |path: &str, method: &str, status: &str| {
        let response = &document["paths"][path][method]["responses"][status];
        assert!(response.is_object(), "{method} {path}");
        response["links"].clone()
    };
    let order =
        json!({ "self": { "operationId": "getOrder", "parameters": { "id": "$response.body#/id" } } });
    assert_eq!(links("/v1/orders", "post", "201"), order);
    assert!(links("/v1/orders/{id}", "get", "200").is_null());
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}
