//! The results of a redrive and a discard.

use std::fmt;

use envelope::TenantId;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use crate::HandlerError;
use crate::message::AggregateRef;
use crate::parking::WaitingRow;

/// The result of a redrive for the waiting messages of one aggregate.
#[derive(Debug, Serialize)]
pub struct Redriven {
    /// The service that published them.
    pub source: String,
    /// The aggregate.
    pub aggregate_id: Uuid,
    /// In the order in which they took effect.
    pub applied: Vec<MessageSummary>,
    /// Removed without effect, because a projection has applied a newer one.
    pub superseded: Vec<MessageSummary>,
    /// Still parked, with the reason.
    pub left: Vec<MessageError>,
    /// Why nothing of this aggregate was changed.
    pub failed: Option<MessageError>,
    /// Whether a message of it was applied, parked or removed.
    #[serde(skip)]
    pub is_changed: bool,
    /// The tenant of the messages, if one of them names a valid one.
    #[serde(skip)]
    pub tenant: Option<TenantId>,
}

/// The result of a discard.
#[derive(Debug)]
pub enum Discard {
    /// The message does not wait.
    NotWaiting,
    /// The message stays, for this reason.
    Refused(String),
    /// The message is gone.
    Done(DiscardEffects),
}

/// A message that was discarded, and what followed.
#[derive(Debug)]
pub struct DiscardEffects {
    /// The tenant of the message, if it names a valid one.
    pub tenant: Option<TenantId>,
    /// The message, for the audit fact: its place, its error, and the hash of its payload.
    pub message: Value,
    /// The messages held behind it that took effect.
    pub applied: Vec<MessageSummary>,
    /// The message held behind it that failed and is parked now.
    pub parked: Option<MessageError>,
    /// Warnings about orders, reservations and payments that stay open, in sentences.
    pub warnings: Vec<String>,
}

/// One message, as reports name it.
#[derive(Debug, Clone, Serialize)]
pub struct MessageSummary {
    message_id: Uuid,
    sequence: i64,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// An error, and the message that caused it, if one did.
#[derive(Debug)]
pub struct MessageError {
    /// The message.
    pub message: Option<MessageSummary>,
    /// The error.
    pub error: HandlerError,
}

impl Serialize for MessageError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("MessageError", 2)?;
        members.serialize_field("message", &self.message)?;
        members.serialize_field("error", &self.error.to_string())?;
        members.end()
    }
}

impl<E: Into<HandlerError>> From<E> for MessageError {
    fn from(error: E) -> Self {
        Self { message: None, error: error.into() }
    }
}

impl fmt::Display for MessageSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_id, sequence, kind } = self;
        write!(f, "{message_id}, number {sequence}, {}", kind.as_deref().unwrap_or("of unknown type"))
    }
}

impl MessageSummary {
    pub(super) fn of(row: &WaitingRow) -> Self {
        Self { message_id: row.message_id, sequence: row.sequence, kind: row.kind() }
    }

    pub(super) fn with(self, error: HandlerError) -> MessageError {
        MessageError { message: Some(self), error }
    }
}

impl Redriven {
    /// Nothing was changed yet.
    pub(super) fn of(aggregate: &AggregateRef) -> Self {
        Self {
            source: aggregate.source.clone(),
            aggregate_id: aggregate.id,
            applied: Vec::new(),
            superseded: Vec::new(),
            left: Vec::new(),
            failed: None,
            is_changed: false,
            tenant: None,
        }
    }

    /// Nothing was changed, because of this error.
    pub fn failed(aggregate: &AggregateRef, error: MessageError) -> Self {
        Self { failed: Some(error), ..Self::of(aggregate) }
    }

    /// Whether there is nothing to report: its messages are held, and wait for a missing one.
    pub fn is_empty(&self) -> bool {
        self.applied.is_empty() && self.superseded.is_empty() && self.left.is_empty() && self.failed.is_none()
    }
}
