//! Why a message was not applied, sorted by whether trying again can help.

use std::panic::AssertUnwindSafe;

use contracts::EnvelopeError;
use database::ErrorClass;
use futures_util::FutureExt;
use thiserror::Error;

use crate::incoming::Entry;

/// A reaction did not succeed; everything it did is rolled back.
#[derive(Debug, Error)]
pub enum HandlerError {
    /// The infrastructure failed, or a constraint refused a row.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// The message cannot be read.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// Nobody reacts to this type, and nobody said that it is to be ignored.
    #[error("no reaction to messages of type {0}")]
    UnknownType(String),
    /// The reaction says that the message makes no sense here.
    #[error("{0}")]
    Refused(String),
    /// The reaction panicked.
    #[error("the reaction panicked")]
    Panicked,
}

impl HandlerError {
    /// Whether waiting may help. Everything else is the message's own fault, and counted against its attempts.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Database(error) => error.class() != ErrorClass::Permanent,
            Self::Unreadable(_) | Self::UnknownType(_) | Self::Refused(_) | Self::Panicked => false,
        }
    }

    /// Whether another attempt cannot possibly end otherwise.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::UnknownType(_))
    }
}

impl From<diesel::result::Error> for HandlerError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<EnvelopeError> for HandlerError {
    fn from(error: EnvelopeError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// A transaction was rolled back, because of one message.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) failure: HandlerError,
    /// That message, if it is not one that came, but one that had waited for it.
    pub(crate) held: Option<Entry>,
}

impl<F: Into<HandlerError>> From<F> for Stopped {
    fn from(failure: F) -> Self {
        Self { failure: failure.into(), held: None }
    }
}

/// A panic is the message's fault, not the consumer's end: the transaction is dropped, and with it all it did.
pub(crate) async fn caught(work: impl Future<Output = Result<(), HandlerError>>) -> Result<(), HandlerError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or(Err(HandlerError::Panicked))
}
