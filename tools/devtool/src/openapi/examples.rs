//! Puts examples into the document: requests and responses that a test has seen on the running services.
//!
//! The file of a service has a member for each operation: its request, and its responses by status; problems by code below their status.
//! The member `problems` has those that several operations share, by code.

use serde_json::{Value, json};

use super::PROBLEM;
use super::document::{members, operations};

/// The member of the shared problems.
pub(super) const SHARED: &str = "problems";

/// Adds the examples of operations. Shared problems get theirs with their component.
pub(super) fn add_examples(document: &mut Value, examples: &Value) {
    for operation in operations(document) {
        let own = examples[operation["operationId"].as_str().unwrap_or_default()].clone();
        if let Some(body) = operation.pointer_mut("/requestBody/content/application~1json")
            && !own["request"].is_null()
        {
            body["example"] = own["request"].clone();
        }
        for (status, response) in members(&mut operation["responses"]) {
            let seen = &own[status.as_str()];
            let content = response.get_mut("content").and_then(Value::as_object_mut);
            let Some(content) = content.filter(|_| !seen.is_null()) else { continue };
            for (media_type, body) in content {
                if media_type == PROBLEM {
                    body["examples"] = named(seen);
                } else {
                    body["example"] = seen.clone();
                }
            }
        }
    }
}

/// Problems by code, in the form of the member `examples`.
pub(super) fn named(problems: &Value) -> Value {
    let problems = problems.as_object().into_iter().flatten();
    problems.map(|(code, problem)| (code.clone(), json!({ "value": problem }))).collect()
}
