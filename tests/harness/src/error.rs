//! Errors of the harness: what failed, during which request or wait, and where to look.

use std::error::Error as StdError;
use std::fmt::Display;
use std::time::Duration;

use thiserror::Error;

use crate::{Part, Response};

/// The result of everything that the harness does.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a step of a test, of the demo or of the benchmark cannot continue.
#[derive(Debug, Error)]
pub enum Error {
    /// A variable of the environment is missing or unreadable.
    #[error("{0} is not set: run this through ./dev")]
    Environment(&'static str),
    /// A command of the shell failed.
    #[error("{command} failed:\n{output}")]
    Command {
        /// The words of the command.
        command: String,
        /// What it printed.
        output: String,
    },
    /// A request got no response.
    #[error("{request} got no response: {}; look at ./dev logs", with_causes(.source))]
    NoResponse {
        /// Method, path and part.
        request: String,
        /// What the HTTP client reports.
        source: reqwest::Error,
    },
    /// A response is not in the service's OpenAPI document.
    #[error("{request} got a response that openapi/{}.json does not have: {what}: {body}", .part.name())]
    Undocumented {
        /// Method, path and part.
        request: String,
        /// Whose document it is.
        part: Part,
        /// What the document does not have.
        what: String,
        /// The body of the response.
        body: String,
    },
    /// A response has another status than the expected one.
    #[error("{request} returned {status} instead of {expected}: {body}")]
    UnexpectedStatus {
        /// Method, path and part.
        request: String,
        /// The expected status.
        expected: u16,
        /// The status of the response.
        status: u16,
        /// The body of the response.
        body: String,
    },
    /// A response or a message has another form than the expected one.
    #[error("{what} cannot be read: {reason}")]
    Unreadable {
        /// The response or the message.
        what: String,
        /// What the reader reports.
        reason: String,
    },
    /// A query failed.
    #[error("the database {} cannot be read: {reason}", .part.name())]
    Database {
        /// Whose database it is.
        part: Part,
        /// What PostgreSQL or the client reports.
        reason: String,
    },
    /// Kafka failed.
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    /// A condition did not become true in time.
    #[error("waited {} s until {condition}; the last look showed: {last}; look at {hint}", .limit.as_secs())]
    Timeout {
        /// What was awaited.
        condition: String,
        /// How long.
        limit: Duration,
        /// What was there instead.
        last: String,
        /// The command that shows more.
        hint: String,
    },
    /// An action failed.
    #[error("cannot {action}: {reason}")]
    Failed {
        /// Completes "cannot …".
        action: String,
        /// The error with its causes.
        reason: String,
    },
    /// A fact that does not allow to continue, as a sentence.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// The error of a response with another status than `expected`.
    pub fn unexpected(response: &Response, expected: u16) -> Self {
        let body = String::from_utf8_lossy(&response.body).into_owned();
        Self::UnexpectedStatus { request: response.request.clone(), expected, status: response.status, body }
    }

    /// The error of a response or a message that cannot be read.
    pub fn unreadable(what: impl Into<String>, reason: impl Display) -> Self {
        Self::Unreadable { what: what.into(), reason: reason.to_string() }
    }
}

/// Adds the action that failed to an error.
pub trait Context<T> {
    /// `action` completes "cannot …".
    fn context(self, action: impl Display) -> Result<T>;
}

impl<T, E: StdError> Context<T> for std::result::Result<T, E> {
    fn context(self, action: impl Display) -> Result<T> {
        self.map_err(|error| Error::Failed { action: action.to_string(), reason: with_causes(&error) })
    }
}

/// The message of an error and of each of its causes. Clients of HTTP and PostgreSQL name the reason only there.
fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
