//! Where the events of an order are on their topics. Kafka has no index on keys, so a part of one partition is read.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use envelope::Envelope;
use harness::{Kafka, Result};
use messaging::admin;

use super::facts::Facts;

/// How many offsets of a partition are read at most, from the time of the event on.
const MOST: i64 = 20_000;

/// The clock of the broker may be behind that of the database by so many milliseconds.
const BEFORE: i64 = 2_000;

/// Reads for each topic the partition of the order's key, from the time of its first published event on.
pub(crate) async fn read(kafka: &Kafka, facts: &mut Facts) -> Result<()> {
    let mut first: BTreeMap<(String, i32), DateTime<Utc>> = BTreeMap::new();
    for (_, at, event) in facts.events().filter(|(_, _, event)| event.is_published()) {
        let since = first.entry((kafka.topics.prefixed(&event.topic), event.partition())).or_insert(at);
        *since = at.min(*since);
    }
    let mut is_whole = true;
    for ((topic, partition), at) in first {
        let since = at.timestamp_millis() - BEFORE;
        let messages = admin::read_since(&kafka.brokers, &topic, partition, since, MOST).await?;
        is_whole &= i64::try_from(messages.len()).is_ok_and(|read| read < MOST);
        for message in messages {
            let Ok(envelope) = Envelope::from_headers(|name| message.header(name)) else { continue };
            let id = envelope.id.uuid();
            let events = facts.rows.iter_mut().filter_map(|(_, fact)| fact.detail.event.as_mut());
            for event in events.filter(|event| event.id == id) {
                event.places.push((message.partition, message.offset));
            }
        }
    }
    facts.has_read_topics = is_whole;
    Ok(())
}
