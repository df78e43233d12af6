//! The headers of responses.

use serde_json::{Value, json};

use super::document::members;

/// Adds the headers that every response carries, and those of a command with a key. `x-idempotency-key` says for programs
/// whether a command takes one.
pub(super) fn add_headers(operation: &mut Value) {
    let parameters = operation["parameters"].as_array();
    let is_keyed = parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "Idempotency-Key"));
    let is_command = operation["requestBody"].is_object() && operation["security"][0]["bearer"].is_array();
    if is_command {
        operation["x-idempotency-key"] = json!(if is_keyed { "required" } else { "unsupported" });
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

/// The components that responses refer to.
pub(super) fn headers() -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_whether_it_takes_a_key_and_its_responses_have_the_headers_of_a_replay() {
        let operation = |parameters: Value, body: Value| {
            let mut operation = json!({
                "parameters": parameters, "requestBody": body, "security": [{ "bearer": [] }], "responses": { "200": {} },
            });
            add_headers(&mut operation);
            operation
        };
        let replayed = "/responses/200/headers/Idempotent-Replayed";
        let keyed = operation(json!([{ "name": "Idempotency-Key" }]), json!({}));
        assert_eq!(keyed["x-idempotency-key"], "required");
        assert!(keyed.pointer(replayed).is_some());
        let natural = operation(json!([]), json!({}));
        assert_eq!(natural["x-idempotency-key"], "unsupported");
        assert!(natural.pointer(replayed).is_none());
        assert_eq!(operation(json!([]), Value::Null)["x-idempotency-key"], Value::Null);
    }
}
