//! A command as it arrives: who asks, for what exactly, and under which key. Nothing is stored for what fails here.

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use actix_web::web::Bytes;
use idempotency::{Fingerprint, FingerprintInput, Key, KeyScope, KeyedRequest};

use crate::body::read_json;
use crate::command_request::Command;
use crate::span::RequestSpan;
use crate::{Edge, Principal, Problem, problem_types};

/// A command whose caller, body and key are in order; not yet parsed, not yet looked up.
pub(crate) struct Arrival {
    pub(crate) edge: Edge,
    pub(crate) intent: KeyedRequest,
    pub(crate) body: Bytes,
}

impl Arrival {
    pub(crate) async fn of<W: Command>(request: HttpRequest, mut payload: Payload) -> Result<Self, Problem> {
        let edge = Edge::of(&request)?;
        let principal = Principal::of(&request).await?;
        principal.require(W::SCOPE)?;
        let (body, canonical) = read_json(&request, &mut payload, &edge.settings).await?;
        let key = key(&request, &edge)?;
        let scope = KeyScope {
            caller: principal.caller().clone(),
            method: request.method().to_string(),
            route: request.match_pattern().unwrap_or_else(|| request.path().to_owned()),
        };
        let fingerprint = fingerprint(&request, &scope, &canonical)?;
        let traceparent = RequestSpan::traceparent(&request);
        let intent = KeyedRequest { scope, key, fingerprint, traceparent };
        Ok(Self { edge, intent, body })
    }
}

/// Exactly one header line, of an accepted form.
fn key(request: &HttpRequest, edge: &Edge) -> Result<Key, Problem> {
    let mut lines = request.headers().get_all(HeaderName::from_static("idempotency-key"));
    let Some(line) = lines.next() else {
        let detail =
            "Send 'Idempotency-Key: KEY', a new UUID for each new intent and the same one for each retry.";
        return Err(Problem::new(&problem_types::KEY_MISSING, detail));
    };
    if lines.next().is_some() {
        return Err(Problem::new(
            &problem_types::KEY_INVALID,
            "There is more than one Idempotency-Key header; send one.",
        ));
    }
    Key::parse(line.as_bytes(), edge.settings.key_policy)
        .map_err(|error| Problem::new(&problem_types::KEY_INVALID, error.to_string()))
}

fn fingerprint(request: &HttpRequest, scope: &KeyScope, canonical: &[u8]) -> Result<Fingerprint, Problem> {
    let query: Vec<(String, String)> =
        serde_urlencoded::from_str(request.query_string()).map_err(|error| {
            Problem::new(&problem_types::REQUEST_INVALID, format!("The query cannot be read: {error}."))
        })?;
    let query: Vec<(&str, &str)> =
        query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path: Vec<(&str, &str)> = request.match_info().iter().collect();
    Ok(Fingerprint::of(&FingerprintInput {
        method: &scope.method,
        route_template: &scope.route,
        path_parameters: &path,
        query: &query,
        media_type: "application/json",
        actor: scope.caller.client.as_str(),
        body: canonical,
    }))
}
