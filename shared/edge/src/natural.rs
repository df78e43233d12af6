//! Commands that are idempotent by themselves: the same PUT twice is the same state. No key, no record.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Handler, Tx};
use idempotency::{Operation, StoredResponse};

use crate::answer::send;
use crate::body::read_json;
use crate::command_request::{Command, CommandRequest};
use crate::span::RequestSpan;
use crate::{CommandError, Edge, Principal, Problem, Reply};

/// A command whose caller and body are in order.
pub struct Natural<W> {
    edge: Edge,
    principal: Principal,
    traceparent: Option<String>,
    body: Bytes,
    command: std::marker::PhantomData<fn() -> W>,
}

impl<W: Command> Natural<W> {
    /// Carries the command out in one transaction; on contention it is run again from the start.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<Tx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Self { edge, principal, traceparent, body, .. } = self;
        let command = async move |tx: &mut Tx,
                                  operation: &Operation|
                    -> Result<StoredResponse, idempotency::CommandError> {
            let request = CommandRequest::<W>::read(&body, operation).map_err(CommandError::Refused)?;
            let reply = handler.run(tx, &request).await?;
            Ok(reply.into())
        };
        let caller = principal.caller().clone();
        let receipt = idempotency::execute_natural(&edge.database, caller, traceparent, command).await?;
        Ok(send(receipt, &[]))
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
            // The canonical form is not needed; but what is not accepted with a key is not accepted without one either.
            let (body, _) = read_json(&request, &mut payload, &edge.settings).await?;
            let traceparent = RequestSpan::traceparent(&request);
            Ok(Self { edge, principal, traceparent, body, command: std::marker::PhantomData })
        })
    }
}
