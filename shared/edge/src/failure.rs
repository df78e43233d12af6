//! How a command says no. Handlers return it; whether the answer is kept is part of saying it.

use database::Error;
use outbox::AppendError;

use crate::{Kind, Problem, kind};

/// Why a command did not succeed. Everything it did is undone.
#[derive(Debug)]
pub enum Failure {
    /// A business rule says no: the answer is stored and replayed like a success.
    Rejected(Problem),
    /// The answer is not kept: the same key may try again.
    Refused(Problem),
    /// The infrastructure failed.
    Database(Error),
}

impl Failure {
    /// A rule says no, for good.
    pub fn rejected(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self::Rejected(Problem::new(kind, detail))
    }

    /// Not now, or not by this caller; not remembered.
    pub fn refused(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self::Refused(Problem::new(kind, detail))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<diesel::result::Error> for Failure {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<AppendError> for Failure {
    fn from(error: AppendError) -> Self {
        tracing::error!(%error, "an event cannot be published, so the change is refused");
        Self::refused(&kind::INTERNAL, "The change cannot be published, so it was not made.")
    }
}

impl From<Failure> for idempotency::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(problem) => Self::Rejected(problem.receipt()),
            Failure::Refused(problem) => Self::Refused(problem.receipt()),
            Failure::Database(error) => Self::Database(error),
        }
    }
}
