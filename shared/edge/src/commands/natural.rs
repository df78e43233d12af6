//! `Natural`: the extractor of a command that is idempotent by itself. The same PUT twice leads to the same state, so it
//! needs no key and no record. A key that a client sends is ignored, and the response says so.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Handler, Tx};

use super::KEY_HEADER;
use super::command_request::{Command, CommandRequest, stored_command};
use super::outcome_response::{STATUS, to_http};
use crate::http::{RequestSpan, read_json};
use crate::{CommandError, Edge, Principal, Problem, Reply};

/// A command whose token and body are valid.
pub struct Natural<W> {
    edge: Edge,
    principal: Principal,
    traceparent: Option<String>,
    /// In canonical form.
    body: Vec<u8>,
    has_key: bool,
    command: PhantomData<fn() -> W>,
}

impl<W: Command> Natural<W> {
    /// Executes the command in one transaction. `handler` runs again after contention.
    ///
    /// # Errors
    /// 503 if the database is away or busy, or the outcome of COMMIT is unknown; 500 if `handler` panics or the database fails
    /// otherwise. Its rejection or refusal is `Ok`.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<Tx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Self { edge, principal, traceparent, body, has_key, .. } = self;
        let command = stored_command(handler, body, &edge.settings);
        let caller = principal.caller().clone();
        let response = idempotency::execute_natural(&edge.database, caller, traceparent, command).await?;
        let ignored = [(STATUS, "ignored")];
        to_http(response, if has_key { &ignored } else { &[] })
    }
}

impl<W: Command> FromRequest for Natural<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            let edge = Edge::of(&request)?;
            let principal = Principal::of(&request).await?;
            principal.require(W::SCOPE)?;
            let body = read_json(&request, &mut payload, &edge.settings).await?;
            let has_key = request.headers().contains_key(KEY_HEADER);
            let traceparent = RequestSpan::traceparent(&request);
            Ok(Self { edge, principal, traceparent, body, has_key, command: PhantomData })
        })
    }
}
