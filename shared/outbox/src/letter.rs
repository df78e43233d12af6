//! How a row travels: one place, so that what is published again is, byte for byte, what was published.

use contracts::{Envelope, InvalidName, Topics};
use messaging::Record;

use crate::rows::StoredEvent;

/// A row, addressed.
pub(crate) struct Letter<'r> {
    pub(crate) topic: String,
    pub(crate) envelope: Envelope,
    key: String,
    headers: Vec<(&'static str, String)>,
    payload: &'r [u8],
}

impl<'r> Letter<'r> {
    pub(crate) fn of(row: &'r StoredEvent, topics: &Topics) -> Result<Self, InvalidName> {
        let envelope = row.envelope()?;
        Ok(Self {
            topic: topics.prefixed(&row.topic),
            headers: envelope.to_headers(),
            envelope,
            key: row.partition_key.to_string(),
            payload: &row.payload,
        })
    }

    /// Its headers as a record wants them.
    pub(crate) fn headers(&self) -> Vec<(&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
    }

    pub(crate) fn record<'a>(&'a self, headers: &'a [(&'a str, &'a [u8])]) -> Record<'a> {
        Record { topic: &self.topic, key: self.key.as_bytes(), payload: self.payload, headers }
    }
}
