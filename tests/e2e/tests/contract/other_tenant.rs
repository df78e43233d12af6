//! Each operation as another tenant, with all scopes: nothing of the first tenant is found, replayed or changed.

use std::collections::BTreeSet;

use e2e::{Customer, Part, Stack};
use harness::{DocumentedResponse, Request, Response};
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::of_services;
use crate::recorder::Recorder;

pub(crate) async fn finds_nothing(stack: &mut Stack, recorder: &Recorder<'_>) {
    stack.at_rest().await;
    let requests = requests_of_callers(recorder);
    let (reads, commands): (Vec<Request>, Vec<Request>) =
        requests.into_iter().partition(|request| request.method == Method::GET);
    let own = &recorder.customer.api;
    let mut before = Vec::new();
    for read in &reads {
        before.push(own.send(read).await.unwrap());
    }
    let ids: BTreeSet<Uuid> = before.iter().flat_map(|response| ids(&response.json())).collect();
    assert!(ids.len() >= 3 * Part::PROGRAMS.len(), "{ids:?}");

    let other = Customer::of(stack);
    for request in reads.iter().chain(&commands) {
        let response = other.api.send(request).await.unwrap();
        assert!(is_without_effect_on_others(request, &response), "{}: {response:?}", request.name());
        let found: Vec<Uuid> = self::ids(&response.json()).intersection(&ids).copied().collect();
        assert!(found.is_empty(), "{} finds {found:?}", request.name());
    }
    stack.at_rest().await;
    for (read, before) in reads.iter().zip(before) {
        let after = own.send(read).await.unwrap();
        assert_eq!((after.status, after.json()), (before.status, before.json()), "{}", read.name());
    }
}

/// A request of each operation that needs a token.
fn requests_of_callers(recorder: &Recorder<'_>) -> Vec<Request> {
    let code = "unauthenticated";
    let documented = DocumentedResponse::all().into_iter().filter(|it| it.code == code).count();
    let requests = Part::SERVICES.into_iter().flat_map(|part| recorder.requests_documenting(part, code));
    let requests: Vec<Request> = requests.collect();
    assert_eq!(requests.len(), documented, "each operation has succeeded once");
    requests
}

/// What is named by a path is not found. A list is empty. Another command is the tenant's own, and no replay. A fence is its own, too.
fn is_without_effect_on_others(request: &Request, response: &Response) -> bool {
    let path = request.path.split('?').next().unwrap_or_default();
    let is_named = path.split('/').count() > 3 && !of_services::is_list(path);
    let is_empty = |body: Value| body.as_object().is_some_and(|it| it.values().all(is_nothing));
    match (request.method == Method::GET, is_named) {
        (true, true) => response.status == 404,
        (true, false) => response.status == 200 && is_empty(response.json()),
        (false, _) if path.ends_with("/fence") => is_nothing(&response.json()["data"]),
        (false, _) => {
            [201, 404, 422].contains(&response.status) && response.header("idempotent-replayed").is_none()
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// The ids in a body.
fn ids(value: &Value) -> BTreeSet<Uuid> {
    match value {
        Value::Object(members) => {
            members.iter().filter(|(name, _)| *name != "request_id").flat_map(|(_, it)| ids(it)).collect()
        }
        Value::Array(items) => items.iter().flat_map(ids).collect(),
        Value::String(text) => text.split(['/', ' ', '.']).filter_map(|word| word.parse().ok()).collect(),
        _ => BTreeSet::new(),
    }
}
