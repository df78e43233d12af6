//! A message as Kafka delivered it, and the entry that the inbox keeps of it.

use std::sync::Arc;

use envelope::{Envelope, Event, Message, header};
use messaging::ReceivedMessage;
use uuid::Uuid;

use crate::HandlerError;

/// A received message, which a batch applies or parks.
pub(crate) struct Arrival<'m> {
    pub(crate) received: &'m ReceivedMessage,
    pub(crate) entry: InboxEntry,
    /// The message to apply, or the error to park it with.
    pub(crate) message: Result<IncomingMessage, Arc<HandlerError>>,
}

impl<'m> Arrival<'m> {
    /// A message to apply. Fails if its headers cannot be decoded.
    pub(crate) fn of(received: &'m ReceivedMessage) -> Result<Self, HandlerError> {
        let message = IncomingMessage::decode_headers(received)?;
        Ok(Self { received, entry: message.entry(), message: Ok(message) })
    }

    /// A message to park, because it cannot be applied.
    pub(crate) fn refused(received: &'m ReceivedMessage, error: Arc<HandlerError>) -> Self {
        let entry = IncomingMessage::decode_headers(received)
            .map_or_else(|_| InboxEntry::of_unreadable(received), |message| message.entry());
        Self { received, entry, message: Err(error) }
    }
}

/// A message whose headers are decoded. Its payload is decoded for the handler only.
#[derive(Debug, Clone)]
pub(crate) struct IncomingMessage {
    pub(crate) envelope: Envelope,
    pub(crate) payload: Vec<u8>,
    pub(crate) origin: RecordOrigin,
}

/// The record's position on Kafka, and its headers as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordOrigin {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) headers: Vec<(String, String)>,
}

impl RecordOrigin {
    pub(crate) fn of(received: &ReceivedMessage) -> Self {
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

/// Replaces the NUL character, which PostgreSQL cannot store in text.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The payload of a record. A record without one (a Kafka tombstone) counts as an empty payload, which no event has.
pub(crate) fn payload_of(received: &ReceivedMessage) -> &[u8] {
    received.payload.as_deref().unwrap_or(&[])
}

impl IncomingMessage {
    pub(crate) fn decode_headers(received: &ReceivedMessage) -> Result<Self, HandlerError> {
        Self::from_parts(RecordOrigin::of(received), payload_of(received).to_vec())
    }

    pub(crate) fn from_parts(origin: RecordOrigin, payload: Vec<u8>) -> Result<Self, HandlerError> {
        let envelope = Envelope::from_headers(|name| origin.header(name).map(str::as_bytes))?;
        Ok(Self { envelope, payload, origin })
    }

    pub(crate) fn decode<E: Event>(&self) -> Result<Message<E>, HandlerError> {
        let data = serde_json::from_slice(&self.payload)
            .map_err(|error| HandlerError::Unreadable(format!("{}: {error}", self.envelope.kind)))?;
        Ok(Message { envelope: self.envelope.clone(), data })
    }

    pub(crate) fn entry(&self) -> InboxEntry {
        let Envelope { id, source, aggregate, sequence, .. } = &self.envelope;
        let aggregate = AggregateRef { source: source.clone(), id: *aggregate };
        InboxEntry { id: id.uuid(), aggregate, sequence: *sequence }
    }
}

/// One aggregate as one source publishes it. Its messages are numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AggregateRef {
    /// The service that publishes the messages.
    pub source: String,
    /// The id of the aggregate.
    pub id: Uuid,
}

/// The sequence of a message whose headers name none.
pub(crate) const UNKNOWN_SEQUENCE: i64 = 0;

/// The part of a message that the inbox keeps for every message: its id and its place in the aggregate's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxEntry {
    pub(crate) id: Uuid,
    pub(crate) aggregate: AggregateRef,
    pub(crate) sequence: i64,
}

impl InboxEntry {
    /// The entry of a message whose headers cannot be decoded. It takes the headers that are valid, then the key, then
    /// the position on Kafka. The entry is the same for each delivery, so that the message is parked once.
    pub(crate) fn of_unreadable(received: &ReceivedMessage) -> Self {
        let position = format!("{}/{}/{}", received.topic, received.partition, received.offset);
        let fallback = Uuid::new_v5(&Uuid::NAMESPACE_OID, position.as_bytes());
        let origin = RecordOrigin::of(received);
        let uuid = |text: &str| Uuid::parse_str(text).ok();
        let key = received.key.as_deref().and_then(|key| std::str::from_utf8(key).ok());
        // Only a valid name, because an index entry must not be of any length.
        let source = origin.header(header::SOURCE).filter(|source| Envelope::is_source(source));
        let aggregate = origin.header(header::SUBJECT).and_then(uuid).or_else(|| key.and_then(uuid));
        let sequence = origin.header(header::SEQUENCE).and_then(|text| text.parse().ok()).filter(|n| *n >= 1);
        Self {
            id: origin.header(header::ID).and_then(uuid).unwrap_or(fallback),
            aggregate: AggregateRef {
                source: source.unwrap_or(&origin.topic).to_owned(),
                id: aggregate.unwrap_or(fallback),
            },
            sequence: sequence.unwrap_or(UNKNOWN_SEQUENCE),
        }
    }
}
