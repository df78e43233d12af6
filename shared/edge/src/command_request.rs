//! What a client asks for, once it is known who asks.

use std::fmt::Display;
use std::ops::Deref;

use audit::Fact;
use chrono::{DateTime, Utc};
use contracts::{Caller, OperationId, TenantId};
use idempotency::Operation;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::parse::{ValidationErrors, parse};

/// A request body that is a command.
pub trait Command: DeserializeOwned + Send + Sync + 'static {
    /// What a token must allow, such as `orders:write`.
    const SCOPE: &'static str;

    /// Notes every rule of form that the command breaks. Rules of business belong to the domain.
    fn validate(&self, errors: &mut ValidationErrors) {
        let _ = errors;
    }
}

/// A command with its caller: what a handler is given. Derefs to the command.
#[derive(Debug, Clone)]
pub struct CommandRequest<W> {
    command: W,
    operation: Operation,
}

impl<W: Command> CommandRequest<W> {
    pub(crate) fn read(body: &[u8], operation: &Operation) -> Result<Self, Problem> {
        let command: W = parse(body)?;
        let mut errors = ValidationErrors::default();
        command.validate(&mut errors);
        match errors.into_problem() {
            Some(problem) => Err(problem),
            None => Ok(Self { command, operation: operation.clone() }),
        }
    }
}

impl<W> CommandRequest<W> {
    /// Whose data it is about.
    pub fn tenant(&self) -> &TenantId {
        &self.operation.caller.tenant
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.operation.caller
    }

    /// The accepted intent's id.
    pub fn operation(&self) -> OperationId {
        self.operation.id
    }

    /// When it was begun, by the database's clock: one reading for all that it writes.
    pub fn at(&self) -> DateTime<Utc> {
        self.operation.at
    }

    /// The audit fact of this intent.
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
