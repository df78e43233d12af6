//! A command that takes effect once: the extractor prepares it, `execute` spends it.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{AppendTx, Handler, Tx};
use idempotency::{Operation, StoredResponse};

use crate::answer::respond;
use crate::arrival::Arrival;
use crate::command_request::{Command, CommandRequest};
use crate::{CommandError, Problem, Reply};

/// A command whose caller, body and key are in order; not yet parsed, not yet looked up.
pub struct Idempotent<W> {
    arrival: Arrival,
    command: PhantomData<fn() -> W>,
}

impl<W: Command> Idempotent<W> {
    /// Carries the command out, unless that was done before, and answers either way.
    ///
    /// The closure runs inside the transaction that also stores its answer. It must not begin, commit or remember:
    /// on contention it is run again from the start.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<Tx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Arrival { edge, intent, body } = self.arrival;
        let command = async move |tx: &mut Tx,
                                  operation: &Operation|
                    -> Result<StoredResponse, idempotency::CommandError> {
            let request = CommandRequest::<W>::read(&body, operation).map_err(CommandError::Refused)?;
            let reply = handler.run(tx, &request).await?;
            Ok(reply.into())
        };
        let answer = idempotency::execute(&edge.database, edge.settings.retention, intent, command).await?;
        Ok(respond(answer, &edge.settings))
    }

    /// The same for a command that only adds rows: under load, many of them share one transaction.
    ///
    /// The closure gets a [`AppendTx`]: it can read, and note what is to be written. It may be run again.
    pub async fn execute_in_group<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<AppendTx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        let Arrival { edge, intent, body } = self.arrival;
        let command = async move |draft: &mut AppendTx,
                                  operation: &Operation|
                    -> Result<StoredResponse, idempotency::CommandError> {
            let request = CommandRequest::<W>::read(&body, operation).map_err(CommandError::Refused)?;
            let reply = handler.run(draft, &request).await?;
            Ok(reply.into())
        };
        let answer = edge.groups.execute(intent, command).await?;
        Ok(respond(answer, &edge.settings))
    }
}

impl<W: Command> FromRequest for Idempotent<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let arrival = Arrival::of::<W>(request.clone(), payload.take());
        Box::pin(async move { Ok(Self { arrival: arrival.await?, command: PhantomData }) })
    }
}
