//! A waiting message as it is stored, and as it is read again.

use chrono::{DateTime, Utc};
use contracts::{TenantId, header};
use diesel::prelude::*;
use serde_json::Value;
use uuid::Uuid;

use crate::HandlerError;
use crate::incoming::{Entry, Incoming, Line, Origin};
use crate::park::{HELD, PARKED, inbox_parked};

/// Everything but its bytes.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = inbox_parked)]
pub(crate) struct About {
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
    pub(crate) parked_at: DateTime<Utc>,
}

impl About {
    pub(crate) fn is_parked(&self) -> bool {
        self.state == PARKED
    }

    /// A word of our own, not of the row.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_parked() { PARKED } else { HELD }
    }

    /// What the inbox remembers of it.
    pub(crate) fn entry(&self) -> Entry {
        Entry { id: self.message_id, line: self.line(), sequence: self.sequence }
    }

    /// In which history it stands.
    pub(crate) fn line(&self) -> Line {
        Line { source: self.source.clone(), aggregate: self.aggregate_id }
    }

    /// Where it stood on Kafka, and its headers in the order of the record.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            topic: self.topic.clone(),
            partition: self.partition,
            offset: self.record_offset,
            headers: serde_json::from_value(self.headers.clone()).unwrap_or_default(),
        }
    }

    /// Its type, if it has a header that says so.
    pub(crate) fn kind(&self) -> Option<String> {
        self.origin().header(header::TYPE).map(str::to_owned)
    }

    /// Whose data it is, if that can be read.
    pub(crate) fn tenant(&self) -> Option<TenantId> {
        self.origin().header(header::TENANT)?.parse().ok()
    }
}

/// The whole message.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = inbox_parked)]
pub(crate) struct Stored {
    #[diesel(embed)]
    pub(crate) about: About,
    pub(crate) payload: Vec<u8>,
}

impl Stored {
    /// Reads it again: what nobody understood may be understood by now.
    pub(crate) fn incoming(&self) -> Result<Incoming, HandlerError> {
        let incoming = Incoming::from_parts(self.about.origin(), self.payload.clone())?;
        if incoming.entry() == self.about.entry() {
            return Ok(incoming);
        }
        let Entry { line, sequence, .. } = incoming.entry();
        Err(HandlerError::Unreadable(format!(
            "its headers say number {sequence} of {} {}, but it was entered under another place; discard it, and \
             have it published again",
            line.source, line.aggregate
        )))
    }
}
