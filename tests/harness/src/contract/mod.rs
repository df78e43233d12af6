//! Compares a response with the OpenAPI document of its service: status, media type, body, and names of headers.
//!
//! A client that is generated from the document knows nothing else, so a response that the document does not have is a defect.

mod documented_response;
mod documents;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use self::documents::{DOCUMENTS, operation, resolved};
use crate::{Part, Request, Response};

pub use documented_response::DocumentedResponse;

/// The compiled schemas, by document and place.
static VALIDATORS: LazyLock<Mutex<BTreeMap<(Part, String), &'static Validator>>> =
    LazyLock::new(Mutex::default);

/// Headers of HTTP itself.
const OF_HTTP: [&str; 7] = [
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "date",
    "vary",
    "x-content-type-options",
];

/// Says what of the response the document does not have. A path or a method that the document does not have is none of its
/// operations, and is not judged.
pub(crate) fn undocumented(request: &Request, response: &Response) -> Option<String> {
    let document = DOCUMENTS.get(&request.part)?;
    let (template, operation) = operation(document, request)?;
    let status = response.status.to_string();
    let Some(found) = operation["responses"].get(&status) else {
        return Some(format!("{} {template} has no response {status}", request.method));
    };
    let found = resolved(document, found);
    let name = |what: String| Some(format!("{} {template}, {status}: {what}", request.method));
    for header in response.headers.keys().map(reqwest::header::HeaderName::as_str) {
        let is_documented = found["headers"]
            .as_object()
            .is_some_and(|headers| headers.keys().any(|known| known.eq_ignore_ascii_case(header)));
        if !OF_HTTP.contains(&header) && !is_documented {
            return name(format!("the header {header} is not documented"));
        }
    }
    if response.body.is_empty() && !found["content"].is_object() {
        return None;
    }
    let media_type = response.header("content-type").unwrap_or_default();
    let Some(content) = found["content"].get(media_type) else {
        return name(format!("the media type {media_type:?} is not documented"));
    };
    let errors = errors(request.part, document, &content["schema"], &response.json());
    (!errors.is_empty()).then(|| name(errors.join("; "))).flatten()
}

fn errors(part: Part, document: &Value, schema: &Value, body: &Value) -> Vec<String> {
    match validator(part, document, schema) {
        Ok(validator) => {
            validator.iter_errors(body).map(|error| format!("{error} at {}", error.instance_path())).collect()
        }
        Err(error) => vec![error],
    }
}

/// Compiles a schema once; there are few.
fn validator(part: Part, document: &Value, schema: &Value) -> Result<&'static Validator, String> {
    let key = (part, schema.to_string());
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(validator) = validators.get(&key) {
        return Ok(validator);
    }
    let mut root = schema.clone();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["components"] = document["components"].clone();
    let options = jsonschema::options().should_validate_formats(true);
    let compiled = options.build(&root).map_err(|error| format!("the schema is not valid: {error}"))?;
    let compiled: &'static Validator = Box::leak(Box::new(compiled));
    validators.insert(key, compiled);
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn judged(status: u16, headers: &[(&'static str, &'static str)], body: &Value) -> Option<String> {
        let request = Request::post(Part::ORDERS, "/v1/orders/1/cancel", &json!({ "reason": "late" }));
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let response = Response {
            request: request.name(),
            instance: Part::ORDERS.instance(1),
            status,
            headers: headers.iter().map(header).collect::<HeaderMap>(),
            body: body.to_string().into_bytes(),
            took: Duration::ZERO,
        };
        undocumented(&request, &response)
    }

    fn problem(code: &str, status: u16) -> Value {
        json!({ "type": "/problems/x", "title": "x", "status": status, "detail": "x", "code": code, "retryable": false })
    }

    #[test]
    fn a_response_is_judged_by_status_headers_media_type_and_code() {
        const PROBLEM: (&str, &str) = ("content-type", "application/problem+json");
        assert_eq!(judged(409, &[PROBLEM], &problem("order-not-cancellable", 409)), None);
        for (status, headers, body, what) in [
            (402, &[PROBLEM][..], problem("card-declined", 402), "has no response 402"),
            (409, &[PROBLEM], problem("stock-insufficient", 409), "not valid under any of the schemas"),
            (409, &[PROBLEM], problem("order-not-cancellable", 422), "not valid under any of the schemas"),
            (409, &[("content-type", "text/html")], json!({}), "text/html"),
            (409, &[PROBLEM, ("x-new", "1")], problem("order-not-cancellable", 409), "header x-new"),
        ] {
            let judgement = judged(status, headers, &body);
            assert!(judgement.as_ref().is_some_and(|text| text.contains(what)), "{what}: {judgement:?}");
        }
    }
}
