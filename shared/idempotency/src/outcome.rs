//! `Outcome`: what the executors return for a request with a key. `CommandError`: how a command says no.

use chrono::{DateTime, Utc};

use crate::StoredResponse;

/// Why a command did not succeed. Its writes are rolled back in every case.
#[derive(Debug)]
pub enum CommandError {
    /// A business rule forbids the command. The response is stored and replayed, like a success.
    Rejected(StoredResponse),
    /// The command is not possible now, or not for this caller. The response is not stored; the same key may try again.
    Refused(StoredResponse),
    /// The infrastructure failed. Nothing is stored.
    Database(database::Error),
}

impl From<database::Error> for CommandError {
    fn from(error: database::Error) -> Self {
        Self::Database(error)
    }
}

impl From<diesel::result::Error> for CommandError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// The outcome of a request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The command was executed now; its response is committed.
    Executed(StoredResponse),
    /// The command was executed before; this is its stored response.
    Replayed {
        /// The response of the first execution.
        response: StoredResponse,
        /// When the command was executed.
        executed_at: DateTime<Utc>,
    },
    /// The command was not executed, and nothing is stored.
    Refused(StoredResponse),
    /// A request with the same key is being executed.
    InProgress,
    /// The key was used for another request.
    Reused,
    /// The key was used, and its response has been erased.
    Expired,
    /// The client has fenced the key before this command was executed; it never is.
    Fenced,
}
