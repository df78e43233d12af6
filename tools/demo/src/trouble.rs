//! What kept a step from going on. A check that fails is no trouble: the step notes it and continues.

use std::time::Duration;

use thiserror::Error;

use crate::part::Part;

/// What happened, where, and where to look.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    #[error("{0} is not set: run the demo with ./dev demo")]
    Environment(&'static str),
    #[error("{command} failed:\n{output}")]
    Outside { command: String, output: String },
    #[error("{request} got no answer: {}; look at ./dev logs", with_causes(.source))]
    NoAnswer { request: String, source: reqwest::Error },
    #[error("{request} was answered with {status} instead of {expected}: {body}")]
    OtherAnswer { request: String, expected: u16, status: u16, body: String },
    #[error("the answer to {request} cannot be read: {reason}")]
    Unreadable { request: String, reason: String },
    #[error("the database {} cannot be read: {reason}", .part.name())]
    Database { part: Part, reason: String },
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    #[error("waited {} s in vain until {what}; the last look showed: {last}; look at {look}", .patience.as_secs())]
    Waited { what: String, patience: Duration, last: String, look: &'static str },
}

/// The HTTP client's own message hides why.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
