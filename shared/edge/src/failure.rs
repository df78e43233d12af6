//! How a command says no. Handlers return it; whether the answer is kept is part of saying it.

use database::Error;
use outbox::AppendError;

use crate::{Problem, ProblemType, problem_types};

/// Why a command did not succeed. Everything it did is undone.
#[derive(Debug)]
pub enum CommandError {
    /// A business rule says no: the answer is stored and replayed like a success.
    Rejected(Problem),
    /// The answer is not kept: the same key may try again.
    Refused(Problem),
    /// The infrastructure failed.
    Database(Error),
}

impl CommandError {
    /// A rule says no, for good.
    pub fn rejected(kind: &'static ProblemType, detail: impl Into<String>) -> Self {
        Self::Rejected(Problem::new(kind, detail))
    }

    /// Not now, or not by this caller; not remembered.
    pub fn refused(kind: &'static ProblemType, detail: impl Into<String>) -> Self {
        Self::Refused(Problem::new(kind, detail))
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<diesel::result::Error> for CommandError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<AppendError> for CommandError {
    fn from(error: AppendError) -> Self {
        tracing::error!(%error, "an event cannot be published, so the change is refused");
        Self::refused(&problem_types::INTERNAL, "The change cannot be published, so it was not made.")
    }
}

impl From<CommandError> for idempotency::CommandError {
    fn from(failure: CommandError) -> Self {
        match failure {
            CommandError::Rejected(problem) => Self::Rejected(problem.receipt()),
            CommandError::Refused(problem) => Self::Refused(problem.receipt()),
            CommandError::Database(error) => Self::Database(error),
        }
    }
}
