//! Why a message was not applied, and whether another attempt can help.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use database::ErrorClass;
use envelope::EnvelopeError;
use futures_util::FutureExt;
use thiserror::Error;
use uuid::Uuid;

use crate::message::InboxEntry;

/// A handler failed. Everything that it did is rolled back.
#[derive(Debug, Error)]
pub enum HandlerError {
    /// The database failed, or a constraint refused a row.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// The message cannot be decoded.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// Kafka's client cannot read the records at these offsets.
    #[error("Kafka's client cannot read the records from offset {first} to {last}: {error}")]
    Corrupt {
        /// The first offset.
        first: i64,
        /// The last offset.
        last: i64,
        /// The client's error.
        error: String,
    },
    /// The consumer neither handles nor ignores this type.
    #[error("no handler for messages of type {0}")]
    UnknownType(String),
    /// The handler says that the message makes no sense here. It is parked at once: the rows that the handler has read under their locks
    /// refuse it again in each attempt, and each pause holds its partition.
    #[error("{0}")]
    Refused(String),
    /// The handler panicked.
    #[error("the handler panicked")]
    Panicked,
    /// Another message was received before under this number: the sender was restored to an earlier time, and numbers go on from
    /// there. Or it counts wrong: it has used a sequence twice, or an id for two aggregates.
    #[error(
        "message {0} has the same number: the sender was restored to an earlier time, or has used a sequence or the id of an aggregate \
         twice"
    )]
    SecondHistory(Uuid),
}

/// The [reason](HandlerError::reason) of a message whose number another message has.
pub(crate) const SECOND_HISTORY: &str = "second history";

impl HandlerError {
    /// Returns whether waiting may help. Such an error costs none of the message's attempts.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => error.class() != ErrorClass::Permanent,
            Self::Unreadable(_)
            | Self::Corrupt { .. }
            | Self::UnknownType(_)
            | Self::Refused(_)
            | Self::Panicked
            | Self::SecondHistory(_) => false,
        }
    }

    /// Returns the kind of the error. Messages that fail with the same kind fail alike.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Database(_) => "database",
            Self::Unreadable(_) => "unreadable",
            Self::Corrupt { .. } => "corrupt",
            Self::UnknownType(_) => "unknown type",
            Self::Refused(_) => "refused",
            Self::Panicked => "panicked",
            Self::SecondHistory(_) => SECOND_HISTORY,
        }
    }

    /// Returns whether every further attempt must fail in the same way.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Unreadable(_)
                | Self::Corrupt { .. }
                | Self::UnknownType(_)
                | Self::Refused(_)
                | Self::SecondHistory(_)
        )
    }
}

impl From<diesel::result::Error> for HandlerError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// An event of the handler cannot be published.
impl From<outbox::AppendError> for HandlerError {
    fn from(error: outbox::AppendError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<EnvelopeError> for HandlerError {
    fn from(error: EnvelopeError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// A batch was rolled back.
#[derive(Debug)]
pub(crate) struct BatchError {
    pub(crate) error: Arc<HandlerError>,
    pub(crate) cause: Cause,
    /// True if the database had worked until the handler ran.
    pub(crate) in_handler: bool,
}

/// The part of a batch that has failed.
#[derive(Debug, PartialEq)]
pub(crate) enum Cause {
    /// No message that is known: the database, or rows of several messages that were refused together.
    Unknown,
    /// The received message with this id.
    Received(Uuid),
    /// This message, which had been held before.
    Held(InboxEntry),
    /// Too many aggregates are parked for this reason to park one more.
    ParkingLimit,
}

impl<E: Into<HandlerError>> From<E> for BatchError {
    fn from(error: E) -> Self {
        Self { error: Arc::new(error.into()), cause: Cause::Unknown, in_handler: false }
    }
}

/// Turns a panic into an error of the message. Otherwise one message could end the consumer.
pub(crate) async fn catch_panic(
    work: impl Future<Output = Result<(), HandlerError>>,
) -> Result<(), HandlerError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or(Err(HandlerError::Panicked))
}
