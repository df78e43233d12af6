//! Builds the Kafka record of an outbox row. It depends on the row alone, so a message that is published again is byte for byte the same.

use envelope::{Envelope, InvalidName, Topics};
use messaging::Record;

use crate::outbox_event::StoredEvent;

/// The record of one row.
pub(crate) struct OutgoingRecord<'r> {
    pub(crate) topic: String,
    pub(crate) envelope: Envelope,
    key: String,
    headers: Vec<(&'static str, String)>,
    payload: &'r [u8],
}

impl<'r> OutgoingRecord<'r> {
    pub(crate) fn new(row: &'r StoredEvent, topics: &Topics) -> Result<Self, InvalidName> {
        let envelope = row.envelope()?;
        Ok(Self {
            topic: topics.prefixed(&row.topic),
            headers: envelope.to_headers(),
            envelope,
            key: row.partition_key.to_string(),
            payload: &row.payload,
        })
    }

    /// Returns the headers in the form that [`record`](Self::record) takes.
    pub(crate) fn headers(&self) -> Vec<(&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
    }

    pub(crate) fn record<'a>(&'a self, headers: &'a [(&'a str, &'a [u8])]) -> Record<'a> {
        Record { topic: &self.topic, key: self.key.as_bytes(), payload: self.payload, headers }
    }
}
