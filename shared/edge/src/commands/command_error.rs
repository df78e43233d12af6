//! `CommandError`: how a handler says no, and whether the response is stored.

use database::Error;
use outbox::AppendError;

use crate::{Problem, ProblemType, problem_types};

/// Why a command did not succeed. Its writes are rolled back in every case.
#[derive(Debug)]
pub enum CommandError {
    /// A business rule forbids the command. The response is stored and replayed, like a success.
    Rejected(Problem),
    /// The command is not possible now, or not for this caller. The response is not stored; the same key may try again.
    Refused(Problem),
    /// The infrastructure failed. Nothing is stored.
    Database(Error),
}

impl CommandError {
    /// A rejection with this problem.
    pub fn rejected(kind: &'static ProblemType, detail: impl Into<String>) -> Self {
        Self::Rejected(Problem::new(kind, detail))
    }

    /// A refusal with this problem.
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
        tracing::error!(%error, "the event cannot be published; the command is refused");
        Self::refused(
            &problem_types::INTERNAL,
            "The event of this change cannot be published. Nothing was changed.",
        )
    }
}

impl From<CommandError> for idempotency::CommandError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(problem) => Self::Rejected(problem.stored_response()),
            CommandError::Refused(problem) => Self::Refused(problem.stored_response()),
            CommandError::Database(error) => Self::Database(error),
        }
    }
}
