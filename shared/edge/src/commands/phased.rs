//! `Phased`: the extractor of a command with an effect outside the service's database.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Handler, Tx};
use idempotency::{Operation, WaitPolicy};

use super::command_request::{Command, CommandRequest};
use super::incoming_command::IncomingCommand;
use super::outcome_response::outcome_response;
use crate::routes::accepted;
use crate::{CommandError, Problem};

/// A command whose token, body and key are valid. A worker carries it out after this request's transaction.
pub struct Phased<W> {
    incoming: IncomingCommand,
    command: PhantomData<fn() -> W>,
}

impl<W: Command> Phased<W> {
    /// Accepts the command, unless its key was used before, and responds with its outcome. If there is no outcome after
    /// [`operation_wait`](crate::EdgeSettings::operation_wait), the response is 202 with the operation's location.
    ///
    /// `begin` writes the rows that a worker carries the command out from, in the transaction that also stores its
    /// record. `resume` starts the next attempt of the same operation after an attempt without effect. The worker
    /// records the outcome by [`idempotency::conclude`]. Both handlers run again after contention.
    ///
    /// # Errors
    /// As [`Idempotent::execute`](crate::Idempotent::execute).
    pub async fn start<B, R>(self, begin: B, resume: R) -> Result<HttpResponse, Problem>
    where
        B: Handler<Tx, CommandRequest<W>, Result<(), CommandError>>,
        R: Handler<Tx, Operation, Result<(), CommandError>>,
    {
        let IncomingCommand { edge, request, body } = self.incoming;
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
}

impl<W: Command> FromRequest for Phased<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let incoming = IncomingCommand::read::<W>(request.clone(), payload.take());
        Box::pin(async move { Ok(Self { incoming: incoming.await?, command: PhantomData }) })
    }
}
