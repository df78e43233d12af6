//! Where the events of an order are on their topics. Kafka has no index on keys, so a part of one partition is read.

use std::collections::BTreeMap;

use envelope::Envelope;
use harness::{Kafka, Result};
use messaging::admin;

use super::facts::Facts;
use super::messages::{EventRow, Positions};

/// How many offsets of a partition are read at most, from the time of the event on.
const MOST: i64 = 20_000;

/// The clock of the broker may be behind that of the database by so many milliseconds.
const BEFORE: i64 = 2_000;

/// Reads for each topic the partition of the order's key, from the time of its first published event on.
pub(crate) async fn read(kafka: &Kafka, facts: &Facts) -> Result<Positions> {
    let mut topics: BTreeMap<(String, i32), Vec<&EventRow>> = BTreeMap::new();
    for event in facts.messages.iter().flat_map(|it| &it.events).filter(|event| event.is_published()) {
        let topic = kafka.topics.prefixed(&event.topic);
        let partition = i32::try_from(event.partition()).unwrap_or_default();
        topics.entry((topic, partition)).or_default().push(event);
    }
    let mut positions = Positions::new();
    for ((topic, partition), events) in topics {
        let Some(first) = events.iter().map(|event| event.created_at).min() else { continue };
        let since = first.timestamp_millis() - BEFORE;
        for message in admin::read_since(&kafka.brokers, &topic, partition, since, MOST).await? {
            let Ok(envelope) = Envelope::from_headers(|name| message.header(name)) else { continue };
            let id = envelope.id.uuid();
            if events.iter().any(|event| event.event_id == id) {
                positions.entry(id).or_default().push((message.partition, message.offset));
            }
        }
    }
    Ok(positions)
}
