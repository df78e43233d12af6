//! `IncomingCommand`: a command as it arrived, with caller, body, key and fingerprint. Nothing is stored for a request that fails here.

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use idempotency::{
    Fingerprint, FingerprintInput, IdempotencyMetrics, Key, KeyRefusal, KeyScope, KeyedRequest,
};
use tracing::Span;

use super::KEY_HEADER;
use super::command_request::Command;
use crate::conditional::refuse_preconditions;
use crate::http::{RequestSpan, path_parameters, read_json};
use crate::{Edge, Principal, Problem, problem_types};

/// A command whose token, body and key are valid. Its body is not parsed and its key not looked up yet.
pub(super) struct IncomingCommand {
    pub(super) edge: Edge,
    pub(super) request: KeyedRequest,
    /// In canonical form.
    pub(super) body: Vec<u8>,
}

impl IncomingCommand {
    pub(super) async fn read<W: Command>(
        request: HttpRequest,
        mut payload: Payload,
    ) -> Result<Self, Problem> {
        let edge = Edge::of(&request)?;
        let principal = Principal::of(&request).await?;
        principal.require(W::SCOPE)?;
        let body = read_json(&request, &mut payload, &edge.settings).await;
        let body = body.map_err(Problem::about_this_request_only)?;
        refuse_preconditions(&request)?;
        let key = read_key(&request, &edge).map_err(|(reason, problem)| refuse(&edge, reason, problem))?;
        Span::current().record("key", key.short_hash());
        let admitted = edge.limiter.admit_key(principal.tenant());
        admitted.map_err(|problem| refuse(&edge, KeyRefusal::TooMany, problem))?;
        let scope = KeyScope {
            caller: principal.caller().clone(),
            method: request.method().to_string(),
            route: request.match_pattern().unwrap_or_else(|| request.path().to_owned()),
        };
        let fingerprint = fingerprint(&request, &scope, &body)?;
        let traceparent = RequestSpan::traceparent(&request);
        Ok(Self { edge, request: KeyedRequest { scope, key, fingerprint, traceparent }, body })
    }
}

/// Reads the key. The request must have exactly one `Idempotency-Key` header line.
fn read_key(request: &HttpRequest, edge: &Edge) -> Result<Key, (KeyRefusal, Problem)> {
    let invalid = |detail: String| (KeyRefusal::Invalid, Problem::new(&problem_types::KEY_INVALID, detail));
    let mut lines = request.headers().get_all(HeaderName::from_static(KEY_HEADER));
    let Some(line) = lines.next() else {
        let detail = "The Idempotency-Key header is missing. Send 'Idempotency-Key: UUID', with a new UUID for each new \
                      command and the same UUID for each retry.";
        return Err((KeyRefusal::Missing, Problem::new(&problem_types::KEY_MISSING, detail)));
    };
    if lines.next().is_some() {
        return Err(invalid("There is more than one Idempotency-Key header; send one.".to_owned()));
    }
    Key::parse(line.as_bytes(), edge.settings.key_policy).map_err(|error| invalid(error.to_string()))
}

/// Counts a request that is refused because of its key.
fn refuse(edge: &Edge, reason: KeyRefusal, problem: Problem) -> Problem {
    edge.database.metrics::<IdempotencyMetrics>().refused_keys.count(reason);
    problem
}

fn fingerprint(request: &HttpRequest, scope: &KeyScope, canonical: &[u8]) -> Result<Fingerprint, Problem> {
    let query: Vec<(String, String)> =
        serde_urlencoded::from_str(request.query_string()).map_err(|error| {
            tracing::debug!(%error, "a query cannot be read");
            Problem::new(&problem_types::REQUEST_INVALID, "The query cannot be read.")
        })?;
    let query: Vec<(&str, &str)> =
        query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = path_parameters(request);
    let path: Vec<(&str, &str)> = path.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
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
