//! Promises 6 and 7 across databases and topics, for one tenant: each committed event is on its topic, no other message is,
//! first occurrences are in order, and each consumer has entered each message once.

use std::collections::{BTreeMap, BTreeSet};

use envelope::{Envelope, Stream};
use messaging::ReceivedMessage;
use uuid::Uuid;

use crate::Database;
use crate::facts::Row;

/// Each consumer, and a stream that it reads.
pub fn readers() -> impl Iterator<Item = (Database, Stream)> {
    Database::services()
        .zip(&services::ALL)
        .flat_map(|(of, service)| service.reads.iter().map(move |name| (of, Stream::of(name))))
}

/// A message with its envelope.
#[derive(Debug, Clone)]
pub struct TopicMessage {
    /// The stream of its topic.
    pub stream: Stream,
    /// The envelope from its headers.
    pub envelope: Envelope,
    /// Its key, if that is a UUID.
    pub key: Option<Uuid>,
    /// Its payload.
    pub payload: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
}

impl TopicMessage {
    /// Reads a message of a service's topic.
    ///
    /// # Errors
    /// The headers cannot be read; the sentence names topic, partition and offset.
    pub fn read(stream: Stream, received: ReceivedMessage) -> Result<Self, String> {
        let envelope = Envelope::from_headers(|name| received.header(name)).map_err(|error| {
            format!("{}/{}/{}: {error}", received.topic, received.partition, received.offset)
        })?;
        let key = received.key.as_deref().and_then(|key| Uuid::try_parse_ascii(key).ok());
        let payload = received.payload.unwrap_or_default();
        let (partition, offset) = (received.partition, received.offset);
        Ok(Self { stream, envelope, key, payload, partition, offset })
    }
}

/// The events that a tenant's services have committed, published and consumed.
pub struct Delivery {
    rows: Vec<Row>,
    published: Vec<TopicMessage>,
    entered: BTreeMap<Database, Vec<Uuid>>,
}

impl Delivery {
    /// Joins the rows and messages of one tenant with the ids that each consumer has entered.
    pub fn of(rows: Vec<Row>, published: Vec<TopicMessage>, entered: BTreeMap<Database, Vec<Uuid>>) -> Self {
        Self { rows, published, entered }
    }

    /// Returns the number of committed events.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of messages on the topics, including repeats.
    pub fn messages(&self) -> usize {
        self.published.len()
    }

    /// Returns the number of messages that repeat an earlier one.
    pub fn repeats(&self) -> usize {
        self.messages()
            - self.published.iter().map(|message| message.envelope.id).collect::<BTreeSet<_>>().len()
    }

    /// Returns the number of messages that consumers have entered, counted for each consumer.
    pub fn entered(&self) -> usize {
        readers()
            .map(|(reader, stream)| self.ids_of(stream).intersection(&self.entered_by(reader)).count())
            .sum()
    }

    /// Committed events that are missing or changed on their topic, and messages without a committed event.
    pub fn unpublished(&self) -> Vec<String> {
        let by_id: BTreeMap<Uuid, &TopicMessage> =
            self.published.iter().map(|message| (message.envelope.id.uuid(), message)).collect();
        let committed: BTreeSet<Uuid> = self.rows.iter().map(|row| row.event_id).collect();
        let lost = self.rows.iter().filter_map(|row| match by_id.get(&row.event_id) {
            None => Some(format!("{} {} is committed, but not on {}", row.kind, row.event_id, row.topic)),
            Some(message) if !is_same(row, message) => {
                Some(format!("{} {} is on {} with other contents", row.kind, row.event_id, row.topic))
            }
            Some(_) => None,
        });
        let invented = by_id.iter().filter(|(id, _)| !committed.contains(id)).map(|(id, message)| {
            format!(
                "{} {id} is on {}, but was never committed",
                message.envelope.kind,
                message.stream.topic()
            )
        });
        lost.chain(invented).collect()
    }

    /// Aggregates whose first occurrences are not 1, 2, 3 and so on in one partition.
    pub fn disordered(&self) -> Vec<String> {
        let mut histories: BTreeMap<(Stream, Uuid), (BTreeSet<i32>, Vec<i64>)> = BTreeMap::new();
        let mut in_order: Vec<&TopicMessage> = self.published.iter().collect();
        in_order.sort_by_key(|message| (message.stream, message.partition, message.offset));
        for message in in_order {
            let (partitions, sequences) =
                histories.entry((message.stream, message.envelope.aggregate)).or_default();
            partitions.insert(message.partition);
            if !sequences.contains(&message.envelope.sequence) {
                sequences.push(message.envelope.sequence);
            }
        }
        let in_order =
            |sequences: &[i64]| sequences.iter().copied().eq(1..=i64::try_from(sequences.len()).unwrap_or(0));
        histories
            .into_iter()
            .filter(|(_, (partitions, sequences))| partitions.len() != 1 || !in_order(sequences))
            .map(|((stream, aggregate), (partitions, sequences))| {
                format!(
                    "{aggregate} of {}: partitions {partitions:?}, in the order {sequences:?}",
                    stream.topic()
                )
            })
            .collect()
    }

    /// Messages that a consumer of their stream has not entered.
    pub fn unconsumed(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (reader, stream) in readers() {
            let entered = self.entered_by(reader);
            let missing = self.ids_of(stream).into_iter().filter(|id| !entered.contains(id));
            found.extend(
                missing.map(|id| format!("{} has not entered {id} of {}", reader.name(), stream.topic())),
            );
        }
        found
    }

    fn ids_of(&self, stream: Stream) -> BTreeSet<Uuid> {
        self.published
            .iter()
            .filter(|message| message.stream == stream)
            .map(|message| message.envelope.id.uuid())
            .collect()
    }

    fn entered_by(&self, reader: Database) -> BTreeSet<Uuid> {
        self.entered.get(&reader).into_iter().flatten().copied().collect()
    }
}

/// Returns whether message and row agree in topic, key, type, aggregate, sequence and payload.
fn is_same(row: &Row, message: &TopicMessage) -> bool {
    let (envelope, topic) = (&message.envelope, message.stream.topic());
    row.topic == topic
        && message.key == Some(row.partition_key)
        && envelope.aggregate == row.aggregate_id
        && envelope.sequence == row.sequence
        && envelope.kind == row.kind
        && message.payload == row.payload
}

#[cfg(test)]
mod tests;
