//! `Command`: a request body that changes something. `CommandRequest`: the command with its caller and operation.

use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;

use audit::Fact;
use chrono::{DateTime, Utc};
use database::Handler;
use envelope::{Caller, OperationId, TenantId};
use idempotency::{Operation, StoredResponse};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::problems::{ValidationErrors, parse};
use crate::{CommandError, EdgeSettings, Problem, ProblemType, Reply};

/// A request body that is a command.
pub trait Command: DeserializeOwned + Send + Sync + 'static {
    /// The scope that the token must have, such as `orders:write`.
    const SCOPE: &'static str;

    /// The problems of its handler, for the OpenAPI document. Those of every command are known.
    const PROBLEMS: &'static [&'static ProblemType] = &[];

    /// Checks the form of the command and adds an error for each violation. Business rules belong to the domain.
    fn validate(&self, _errors: &mut ValidationErrors) {}
}

/// A command with its caller and operation: the argument of a handler. It dereferences to the command.
#[derive(Debug, Clone)]
pub struct CommandRequest<W> {
    command: W,
    operation: Operation,
}

impl<W: Command> CommandRequest<W> {
    pub(super) fn read(body: &[u8], operation: &Operation, edge: &EdgeSettings) -> Result<Self, Problem> {
        let command: W = parse(body)?;
        let mut errors = ValidationErrors::new(edge.card_numbers_in_references);
        command.validate(&mut errors);
        match errors.into_problem() {
            Some(problem) => Err(problem),
            None => Ok(Self { command, operation: operation.clone() }),
        }
    }
}

/// Makes of `handler` the command that `idempotency` executes: it reads the request from the body, and stores the reply.
pub(super) fn stored_command<T, W, F>(
    handler: F,
    body: Vec<u8>,
    settings: &Arc<EdgeSettings>,
) -> impl Handler<T, Operation, Result<StoredResponse, idempotency::CommandError>>
where
    T: Send + 'static,
    W: Command,
    F: Handler<T, CommandRequest<W>, Result<Reply, CommandError>>,
{
    let settings = Arc::clone(settings);
    async move |tx: &mut T, operation: &Operation| -> Result<StoredResponse, idempotency::CommandError> {
        let request =
            CommandRequest::<W>::read(&body, operation, &settings).map_err(CommandError::Refused)?;
        Ok(handler.run(tx, &request).await?.stored_response()?)
    }
}

impl<W> CommandRequest<W> {
    /// The tenant whose data the command changes.
    pub fn tenant(&self) -> &TenantId {
        &self.operation.caller.tenant
    }

    /// Tenant and client of the request.
    pub fn caller(&self) -> &Caller {
        &self.operation.caller
    }

    /// The id of this execution, the same in the record, the events and the audit fact.
    pub fn operation(&self) -> OperationId {
        self.operation.id
    }

    /// What ids of the command are computed from: see [`Operation::seed`].
    pub fn seed(&self) -> Uuid {
        self.operation.seed
    }

    /// When the transaction began, by the database's clock. All rows of the operation carry this time.
    pub fn at(&self) -> DateTime<Utc> {
        self.operation.at
    }

    /// The audit fact of this operation.
    pub fn fact(&self, action: &'static str, subject_type: &'static str, subject_id: impl Display) -> Fact {
        Fact::new(self.caller(), self.operation(), action, subject_type, subject_id)
    }
}

impl<W> Deref for CommandRequest<W> {
    type Target = W;
    fn deref(&self) -> &W {
        &self.command
    }
}
