//! `Idempotent`: the extractor of a command that takes effect once.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{AppendTx, Handler, Tx};
use idempotency::{
    Fingerprint, FingerprintInput, IdempotencyMetrics, Key, KeyRefusal, KeyScope, KeyedRequest, Operation,
    WaitPolicy,
};
use tracing::Span;

use super::KEY_HEADER;
use super::command_request::{Command, CommandRequest, stored_command};
use super::outcome_response::outcome_response;
use crate::conditional::refuse_preconditions;
use crate::http::{RequestSpan, path_parameters, read_json};
use crate::routes::accepted;
use crate::{CommandError, Edge, Principal, Problem, Reply, problem_types};

/// A command whose token, body and key are valid. Its body is not parsed and its key not looked up yet.
pub struct Idempotent<W> {
    edge: Edge,
    request: KeyedRequest,
    /// In canonical form.
    body: Vec<u8>,
    command: PhantomData<fn() -> W>,
}

impl<W: Command> Idempotent<W> {
    /// Executes the command, unless its key was used before, and responds in either case.
    ///
    /// `handler` runs in the transaction that stores its reply, again after contention. It must not begin, commit or keep state.
    ///
    /// # Errors
    /// 409 if the key is in use; [`mismatch_status`](crate::EdgeSettings::mismatch_status) if it was reused or has expired; 503 if the
    /// database is away or busy, or COMMIT has no answer; 500 if `handler` panics or the database fails otherwise. A rejection is `Ok`.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<Tx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Self { edge, request, body, .. } = self;
        let command = stored_command(handler, body, &edge.settings);
        let outcome = idempotency::execute(&edge.database, edge.settings.retention, request, command).await?;
        outcome_response(outcome, &edge.settings)
    }

    /// The same for a command that only reads and appends rows. Under load, many such commands share one transaction.
    ///
    /// # Errors
    /// As [`execute`](Self::execute), and 503 if no group takes the command in time.
    pub async fn execute_in_group<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<AppendTx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Self { edge, request, body, .. } = self;
        let command = stored_command(handler, body, &edge.settings);
        let outcome = edge.groups.execute(request, command).await?;
        outcome_response(outcome, &edge.settings)
    }

    /// Accepts a command with an effect outside the service's database, unless its key was used before. A worker carries it
    /// out after this request's transaction. The response is the outcome, or after
    /// [`operation_wait`](crate::EdgeSettings::operation_wait) 202 with the operation's location.
    ///
    /// `begin` writes the rows that a worker carries the command out from, in the transaction that also stores its
    /// record. `resume` starts the next attempt of the same operation after an attempt without effect. The worker
    /// records the outcome by [`idempotency::conclude`]. Both handlers run again after contention.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub async fn start<B, R>(self, begin: B, resume: R) -> Result<HttpResponse, Problem>
    where
        B: Handler<Tx, CommandRequest<W>, Result<(), CommandError>>,
        R: Handler<Tx, Operation, Result<(), CommandError>>,
    {
        let Self { edge, request, body, .. } = self;
        let settings = Arc::clone(&edge.settings);
        let begin =
            async move |tx: &mut Tx, operation: &Operation| -> Result<(), idempotency::CommandError> {
                let request =
                    CommandRequest::<W>::read(&body, operation, &settings).map_err(CommandError::Refused)?;
                Ok(begin.run(tx, &request).await?)
            };
        let resume =
            async move |tx: &mut Tx, operation: &Operation| -> Result<(), idempotency::CommandError> {
                Ok(resume.run(tx, operation).await?)
            };
        let wait = WaitPolicy { limit: edge.settings.operation_wait, accepted };
        let retention = edge.settings.retention;
        let outcome = idempotency::start(&edge.database, retention, wait, request, begin, resume).await?;
        outcome_response(outcome, &edge.settings)
    }

    /// Checks token, body, key and fingerprint. Nothing is stored for a request that fails here.
    async fn read(request: HttpRequest, mut payload: Payload) -> Result<Self, Problem> {
        let edge = Edge::of(&request)?;
        let principal = Principal::of(&request).await?;
        principal.require(W::SCOPE)?;
        let body = read_json(&request, &mut payload, &edge.settings).await;
        let body = body.map_err(Problem::about_this_request_only)?;
        refuse_preconditions(&request)?;
        let key = read_key(&request, &edge).map_err(|(reason, problem)| refuse(&edge, reason, problem))?;
        Span::current().record("key", key.short_hash());
        let scope = KeyScope {
            caller: principal.caller().clone(),
            method: request.method().to_string(),
            route: request.match_pattern().unwrap_or_else(|| request.path().to_owned()),
        };
        let fingerprint = fingerprint(&request, &scope, &body)?;
        let traceparent = RequestSpan::traceparent(&request);
        let request = KeyedRequest { scope, key, fingerprint, traceparent };
        Ok(Self { edge, request, body, command: PhantomData })
    }
}

impl<W: Command> FromRequest for Idempotent<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        Box::pin(Self::read(request.clone(), payload.take()))
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
