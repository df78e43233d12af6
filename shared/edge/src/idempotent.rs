//! A command that takes effect once: the extractor prepares it, `execute` spends it.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Tx, Work};
use idempotency::{Fingerprint, FingerprintInput, Intent, Key, Operation, Receipt, Scope};

use crate::answer::respond;
use crate::body::read_json;
use crate::span::RequestSpan;
use crate::wish::{Command, Wish};
use crate::{Edge, Failure, Principal, Problem, Reply, kind};

/// A command whose caller, body and key are in order; not yet parsed, not yet looked up.
pub struct Idempotent<W> {
    edge: Edge,
    intent: Intent,
    body: Bytes,
    command: std::marker::PhantomData<fn() -> W>,
}

impl<W: Command> Idempotent<W> {
    /// Carries the command out, unless that was done before, and answers either way.
    ///
    /// The closure runs inside the transaction that also stores its answer. It must not begin, commit or remember:
    /// on contention it is run again from the start.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        for<'t, 'w> F: AsyncFnOnce(&'t mut Tx, &'w Wish<W>) -> Result<Reply, Failure>
            + Work<&'t mut Tx, &'w Wish<W>, Result<Reply, Failure>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let Self { edge, intent, body, .. } = self;
        let command =
            async move |tx: &mut Tx, operation: &Operation| -> Result<Receipt, idempotency::Failure> {
                let wish = Wish::<W>::read(&body, operation).map_err(Failure::Refused)?;
                let reply = handler(tx, &wish).await?;
                Ok(reply.into())
            };
        let answer = idempotency::execute(&edge.database, edge.settings.retention, intent, command).await?;
        Ok(respond(answer, &edge.settings))
    }
}

impl<W: Command> FromRequest for Idempotent<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            let edge = Edge::of(&request)?;
            let principal = Principal::of(&request).await?;
            principal.require(W::SCOPE)?;
            let (body, canonical) = read_json(&request, &mut payload, &edge.settings).await?;
            let key = key(&request, &edge)?;
            let scope = Scope {
                caller: principal.caller().clone(),
                method: request.method().to_string(),
                route: request.match_pattern().unwrap_or_else(|| request.path().to_owned()),
            };
            let fingerprint = fingerprint(&request, &scope, &canonical)?;
            let traceparent = RequestSpan::traceparent(&request);
            let intent = Intent { scope, key, fingerprint, traceparent };
            Ok(Self { edge, intent, body, command: std::marker::PhantomData })
        })
    }
}

/// Exactly one header line, of an accepted form.
fn key(request: &HttpRequest, edge: &Edge) -> Result<Key, Problem> {
    let mut lines = request.headers().get_all(HeaderName::from_static("idempotency-key"));
    let Some(line) = lines.next() else {
        let detail =
            "Send 'Idempotency-Key: KEY', a new UUID for each new intent and the same one for each retry.";
        return Err(Problem::new(&kind::KEY_MISSING, detail));
    };
    if lines.next().is_some() {
        return Err(Problem::new(
            &kind::KEY_INVALID,
            "There is more than one Idempotency-Key header; send one.",
        ));
    }
    Key::parse(line.as_bytes(), edge.settings.key_policy)
        .map_err(|error| Problem::new(&kind::KEY_INVALID, error.to_string()))
}

fn fingerprint(request: &HttpRequest, scope: &Scope, canonical: &[u8]) -> Result<Fingerprint, Problem> {
    let query: Vec<(String, String)> =
        serde_urlencoded::from_str(request.query_string()).map_err(|error| {
            Problem::new(&kind::REQUEST_INVALID, format!("The query cannot be read: {error}."))
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
