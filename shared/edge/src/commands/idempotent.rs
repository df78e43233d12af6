//! `Idempotent`: the extractor of a command that takes effect once.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{AppendTx, Handler, Tx};

use super::command_request::{Command, CommandRequest, stored_command};
use super::incoming_command::IncomingCommand;
use super::outcome_response::outcome_response;
use crate::{CommandError, Problem, Reply};

/// A command whose token, body and key are valid. Its body is not parsed and its key not looked up yet.
pub struct Idempotent<W> {
    incoming: IncomingCommand,
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
        let IncomingCommand { edge, request, body } = self.incoming;
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
        let IncomingCommand { edge, request, body } = self.incoming;
        let command = stored_command(handler, body, &edge.settings);
        let outcome = edge.groups.execute(request, command).await?;
        outcome_response(outcome, &edge.settings)
    }
}

impl<W: Command> FromRequest for Idempotent<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let incoming = IncomingCommand::read::<W>(request.clone(), payload.take());
        Box::pin(async move { Ok(Self { incoming: incoming.await?, command: PhantomData }) })
    }
}
