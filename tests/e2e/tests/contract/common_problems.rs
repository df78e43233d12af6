//! The problems that many operations share: each operation that documents one gives it.

use e2e::{Part, Stack};
use harness::api::Api;
use harness::{Client, DocumentedResponse, Request};
use testkit::identity;
use uuid::Uuid;

use crate::recorder::Recorder;

/// Longer than any body that is accepted.
const TOO_LONG: usize = 70_000;

pub(crate) async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
    other_keys(recorder).await;
    let without_token = client(stack, String::new());
    let without_scope = client(stack, identity::token(recorder.customer.tenant(), "e2e", "profile"));
    let documented = DocumentedResponse::all();
    for (part, operation, request) in recorder.requests() {
        let documents = |status: u16, code: &str| {
            let (operation, code) = (operation.clone(), code.to_owned());
            documented.contains(&DocumentedResponse { part, operation, status, code })
        };
        for (client, status, code) in
            [(&without_token, 401, "unauthenticated"), (&without_scope, 403, "forbidden")]
        {
            if documents(status, code) {
                let response = client.send(&request).await.unwrap();
                assert_eq!((response.status, response.code()), (status, code.to_owned()), "{operation}");
                recorder.keep(&request, &response);
            }
        }
        let new_key = || request.key.is_some().then(|| Uuid::new_v4().to_string());
        let with_body =
            |body: &str| Request { body: Some(body.to_owned()), key: new_key(), ..request.clone() };
        let wrong = [
            (400, "request-invalid", with_body("{\"colour\": \"red\"}")),
            (413, "request-too-large", with_body(&" ".repeat(TOO_LONG))),
            (415, "unsupported-media-type", with_body("a=b").with_header("Content-Type", "text/plain")),
            (400, "idempotency-key-missing", request.clone().without_key()),
            (400, "idempotency-key-invalid", request.clone().with_key("two words")),
            (409, "idempotency-key-reused", other(&request)),
        ];
        for (status, code, wrong) in wrong {
            let is_signed = !request.headers.is_empty(); // another body of an event is refused for its signature
            if request.body.is_some() && documents(status, code) && !(is_signed && code == "request-invalid")
            {
                recorder.gets(status, code, &wrong).await;
            }
        }
    }
}

/// Reads a key that was never used, and one that cannot be a key.
async fn other_keys(recorder: &mut Recorder<'_>) {
    for service in Part::SERVICES {
        let read = |key: &str| Request::get(service, format!("/v1/idempotency-keys/{key}"));
        recorder.gets(404, "not-found", &read(&Uuid::new_v4().to_string())).await;
        recorder.gets(400, "idempotency-key-invalid", &read("two%20words")).await;
    }
}

/// The same request with another content.
fn other(request: &Request) -> Request {
    let words = [
        ("\"quantity\":2", "\"quantity\":3"),
        ("changed", "lost"),
        ("delivery", "count"),
        ("broken", "worn"),
        ("EUR", "USD"),
    ];
    let body = request.body.clone().unwrap_or_default();
    let body = words.iter().fold(body, |body, (from, to)| body.replace(from, to));
    Request { body: Some(body), ..request.clone() }
}

fn client(stack: &Stack, token: String) -> Api<'_> {
    let route = |part: Part| stack.endpoints(&[part.name()]);
    Api::new(Client::new(0, token).unwrap(), route)
}
