//! A command whose effect lies beyond the service's database: the extractor prepares it, `start` spends it.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Handler, Tx};
use idempotency::{Operation, WaitPolicy};

use crate::answer::respond;
use crate::arrival::Arrival;
use crate::command_request::{Command, CommandRequest};
use crate::operations::accepted;
use crate::{CommandError, Problem};

/// A command whose caller, body and key are in order; not yet parsed, not yet looked up. What it wants is done by
/// others, after this request's transaction.
pub struct Phased<W> {
    arrival: Arrival,
    command: PhantomData<fn() -> W>,
}

impl<W: Command> Phased<W> {
    /// Accepts the command, unless that was done before, and answers with its outcome; or, where that takes longer
    /// than [`operation_wait`](crate::EdgeSettings::operation_wait), with 202 and where to look.
    ///
    /// `begin` writes what the command is carried out by, in the transaction that also stores its record. `resume` has
    /// it tried again under the same operation, when the last try is known to have had no effect. Whoever carries it
    /// out tells the outcome by [`idempotency::conclude`]. On contention both are run again from the start.
    pub async fn start<B, R>(self, begin: B, resume: R) -> Result<HttpResponse, Problem>
    where
        B: Handler<Tx, CommandRequest<W>, Result<(), CommandError>>,
        R: Handler<Tx, Operation, Result<(), CommandError>>,
    {
        let Arrival { edge, intent, body } = self.arrival;
        let begin =
            async move |tx: &mut Tx, operation: &Operation| -> Result<(), idempotency::CommandError> {
                let request = CommandRequest::<W>::read(&body, operation).map_err(CommandError::Refused)?;
                Ok(begin.run(tx, &request).await?)
            };
        let resume =
            async move |tx: &mut Tx, operation: &Operation| -> Result<(), idempotency::CommandError> {
                Ok(resume.run(tx, operation).await?)
            };
        let patience = WaitPolicy { limit: edge.settings.operation_wait, receipt: accepted };
        let retention = edge.settings.retention;
        let answer = idempotency::start(&edge.database, retention, patience, intent, begin, resume).await?;
        Ok(respond(answer, &edge.settings))
    }
}

impl<W: Command> FromRequest for Phased<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let arrival = Arrival::of::<W>(request.clone(), payload.take());
        Box::pin(async move { Ok(Self { arrival: arrival.await?, command: PhantomData }) })
    }
}
