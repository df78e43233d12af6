//! A waiting message as it is stored, and its decoding.

use diesel::prelude::*;
use envelope::{TenantId, header};
use serde_json::Value;
use uuid::Uuid;

use super::{PARKED, inbox_parked};
use crate::HandlerError;
use crate::error::SECOND_HISTORY;
use crate::message::{AggregateRef, InboxEntry, IncomingMessage, RecordOrigin};

/// A row of `inbox_parked` without the payload.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = inbox_parked)]
pub(crate) struct WaitingRow {
    pub(crate) message_id: Uuid,
    source: String,
    aggregate_id: Uuid,
    pub(crate) sequence: i64,
    state: String,
    topic: String,
    partition: i32,
    record_offset: i64,
    headers: Value,
    pub(crate) error: Option<String>,
    reason: Option<String>,
}

impl WaitingRow {
    pub(crate) fn is_parked(&self) -> bool {
        self.state == PARKED
    }

    /// Whether its number is this one. A message of a second history does not have the number of its headers.
    pub(crate) fn has_number(&self, sequence: i64) -> bool {
        self.sequence == sequence && self.reason.as_deref() != Some(SECOND_HISTORY)
    }

    pub(crate) fn entry(&self) -> InboxEntry {
        InboxEntry { id: self.message_id, aggregate: self.aggregate(), sequence: self.sequence }
    }

    pub(crate) fn aggregate(&self) -> AggregateRef {
        AggregateRef { source: self.source.clone(), id: self.aggregate_id }
    }

    /// The record's position on Kafka, and its headers in their original order. Without headers if the column does not
    /// hold pairs: operators can then still list and discard the message, and decoding it fails.
    pub(crate) fn origin(&self) -> RecordOrigin {
        RecordOrigin {
            topic: self.topic.clone(),
            partition: self.partition,
            offset: self.record_offset,
            headers: serde_json::from_value(self.headers.clone()).unwrap_or_default(),
        }
    }

    /// The event type, if a header names one.
    pub(crate) fn kind(&self) -> Option<String> {
        self.origin().header(header::TYPE).map(str::to_owned)
    }

    /// The tenant, if a header names a valid one.
    pub(crate) fn tenant(&self) -> Option<TenantId> {
        self.origin().header(header::TENANT)?.parse().ok()
    }
}

/// A row of `inbox_parked` with the payload.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = inbox_parked)]
pub(crate) struct WaitingMessage {
    #[diesel(embed)]
    pub(crate) row: WaitingRow,
    pub(crate) payload: Vec<u8>,
}

impl WaitingMessage {
    /// Decodes the headers again. A later version of the program may decode what an earlier one could not.
    pub(crate) fn decode_headers(&self) -> Result<IncomingMessage, HandlerError> {
        let message = IncomingMessage::from_parts(self.row.origin(), self.payload.clone())?;
        let decoded = message.entry();
        if decoded == self.row.entry() {
            return Ok(message);
        }
        let InboxEntry { aggregate, sequence, .. } = decoded;
        Err(HandlerError::Unreadable(format!(
            "its headers name sequence {sequence} of {} {}, but the inbox stored it under another one; discard it, and \
             publish it again",
            aggregate.source, aggregate.id
        )))
    }
}
