//! A message as it came from Kafka: headers read, data not yet.

use contracts::{Envelope, Event, Message, header};
use messaging::Received;
use uuid::Uuid;

use crate::HandlerError;

/// A message with a readable envelope.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) envelope: Envelope,
    pub(crate) payload: Vec<u8>,
    pub(crate) origin: Origin,
}

/// Where on Kafka it stood, and its headers as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) headers: Vec<(String, String)>,
}

impl Origin {
    pub(crate) fn of(received: &Received) -> Self {
        let text = |bytes: &[u8]| storable(&String::from_utf8_lossy(bytes));
        let headers = received.headers.iter();
        Self {
            topic: received.topic.to_string(),
            partition: received.partition,
            offset: received.offset,
            headers: headers.map(|(name, value)| (storable(name), text(value))).collect(),
        }
    }

    /// The last header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().rev().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Text that PostgreSQL can hold: it takes every character but one.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl Incoming {
    pub(crate) fn read_envelope(received: &Received) -> Result<Self, HandlerError> {
        Self::from_parts(Origin::of(received), received.payload.clone().unwrap_or_default())
    }

    pub(crate) fn from_parts(origin: Origin, payload: Vec<u8>) -> Result<Self, HandlerError> {
        let envelope = Envelope::from_headers(|name| origin.header(name).map(str::as_bytes))?;
        Ok(Self { envelope, payload, origin })
    }

    pub(crate) fn message<E: Event>(&self) -> Result<Message<E>, HandlerError> {
        let data = serde_json::from_slice(&self.payload)
            .map_err(|error| HandlerError::Unreadable(format!("{}: {error}", self.envelope.kind)))?;
        Ok(Message { envelope: self.envelope.clone(), data })
    }

    /// What the inbox remembers of it.
    pub(crate) fn entry(&self) -> Entry {
        let line = Line { source: self.envelope.source.clone(), aggregate: self.envelope.aggregate };
        Entry { id: self.envelope.id.uuid(), line, sequence: self.envelope.sequence }
    }
}

/// The sequence of a message whose place in its aggregate's history nobody can read.
pub(crate) const UNKNOWN: i64 = 0;

/// A message, as the inbox remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Uuid,
    pub(crate) line: Line,
    pub(crate) sequence: i64,
}

impl Entry {
    /// Of a message whose envelope nobody can read: what its headers tell, else its place on Kafka. The same each
    /// time it is delivered, so that it is parked once.
    pub(crate) fn of_unreadable(received: &Received) -> Self {
        let place = format!("{}/{}/{}", received.topic, received.partition, received.offset);
        let fallback = Uuid::new_v5(&Uuid::NAMESPACE_OID, place.as_bytes());
        let origin = Origin::of(received);
        let uuid = |text: &str| Uuid::parse_str(text).ok();
        let key = received.key.as_deref().and_then(|key| std::str::from_utf8(key).ok());
        // It becomes part of an index, whose entries cannot be of any length.
        let source = origin.header(header::SOURCE).filter(|source| Envelope::is_source(source));
        let aggregate = origin.header(header::SUBJECT).and_then(uuid).or_else(|| key.and_then(uuid));
        let sequence = origin.header(header::SEQUENCE).and_then(|text| text.parse().ok()).filter(|n| *n >= 1);
        Self {
            id: origin.header(header::ID).and_then(uuid).unwrap_or(fallback),
            line: Line {
                source: source.unwrap_or(&origin.topic).to_owned(),
                aggregate: aggregate.unwrap_or(fallback),
            },
            sequence: sequence.unwrap_or(UNKNOWN),
        }
    }
}

/// One aggregate's history, as one source tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Line {
    pub(crate) source: String,
    pub(crate) aggregate: Uuid,
}
