//! The problems that many operations share: each operation that documents one gives it.

use e2e::{Part, Stack};
use harness::Api;
use harness::{Client, Request, fence};
use serde_json::{Value, json};
use testkit::identity;
use uuid::Uuid;

use crate::recorder::Recorder;

/// Longer than any body that is accepted.
const TOO_LONG: usize = 70_000;

/// A key that is fenced at every service.
const FENCED: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

type Wrong = fn(&Request) -> Request;

/// What makes a command wrong.
const WRONG: [(u16, &str, Wrong); 7] = [
    (400, "request-invalid", |request| with_body(request, "{\"colour\": \"red\"}")),
    (413, "request-too-large", |request| with_body(request, &" ".repeat(TOO_LONG))),
    (415, "unsupported-media-type", |request| {
        with_body(request, "a=b").with_header("Content-Type", "text/plain")
    }),
    (400, "idempotency-key-missing", |request| request.clone().without_key()),
    (400, "idempotency-key-invalid", |request| request.clone().with_key("two words")),
    (409, "idempotency-key-reused", other),
    (409, "idempotency-key-fenced", |request| request.clone().with_key(FENCED)),
];

pub(crate) async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
    other_keys(recorder).await;
    let without_token = client(stack, String::new());
    let without_scope = client(stack, identity::token(recorder.customer.tenant(), "e2e", "profile"));
    for part in Part::SERVICES {
        for (api, status, code) in
            [(&without_token, 401, "unauthenticated"), (&without_scope, 403, "forbidden")]
        {
            for request in recorder.requests_documenting(part, code) {
                recorder.gets_by(api, status, code, &request).await;
            }
        }
        for (status, code, wrong) in WRONG {
            let requests = recorder.requests_documenting(part, code);
            let commands = requests.iter().filter(|request| request.body.is_some());
            // Another body of an event is refused for its signature.
            for request in commands.filter(|request| request.headers.is_empty() || code != "request-invalid")
            {
                recorder.gets(status, code, &wrong(request)).await;
            }
        }
    }
}

/// Reads a key that was never used, and one that cannot be a key. Fences one.
async fn other_keys(recorder: &mut Recorder<'_>) {
    for service in Part::SERVICES {
        let read = |key: &str| Request::get(service, format!("/v1/idempotency-keys/{key}"));
        recorder.gets(404, "not-found", &read(&Uuid::new_v4().to_string())).await;
        recorder.gets(400, "idempotency-key-invalid", &read("two%20words")).await;
        recorder.gets(200, "", &fence(service, FENCED)).await;
        recorder.gets(400, "idempotency-key-invalid", &fence(service, "two%20words")).await;
    }
}

/// This body under a new key.
fn with_body(request: &Request, body: &str) -> Request {
    let key = request.key.is_some().then(|| Uuid::new_v4().to_string());
    Request { body: Some(body.to_owned()), key, ..request.clone() }
}

/// The same request with another content.
fn other(request: &Request) -> Request {
    let mut body = serde_json::from_str(request.body.as_deref().unwrap_or_default()).unwrap();
    assert!(change(&mut body), "{} has no number or text to change", request.name());
    Request { body: Some(body.to_string()), ..request.clone() }
}

/// Changes the first number or text.
fn change(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => *value = json!(number.as_i64().unwrap() + 1),
        Value::String(text) => text.push('s'),
        Value::Array(values) => return values.iter_mut().any(change),
        Value::Object(members) => return members.values_mut().any(change),
        Value::Null | Value::Bool(_) => return false,
    }
    true
}

fn client(stack: &Stack, token: String) -> Api<'_> {
    let route = |part: Part| stack.endpoints(&[part.name()]);
    Api::new(Client::new(0, token).unwrap(), route)
}
