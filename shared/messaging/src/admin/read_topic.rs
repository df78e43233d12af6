//! Reads a whole topic, or a part of one partition. For audits, operators, the demo and tests; a service reads by a `Subscription`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::client::{self, ConsumerClient};
use super::offsets::{offsets_since, watermarks};
use crate::{Brokers, Error, ReceivedMessage};

/// The longest time without a new message before reading fails.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns every message that the topic has at the time of the call, ordered by partition and offset.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::UnknownTopic`] if the topic does not exist; [`Error::Refused`] if a message has a
/// wrong checksum, or none arrives for 30 s.
pub async fn read_all(brokers: &Brokers, topic: &str) -> Result<Vec<ReceivedMessage>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::consumer_client(&brokers, &reader_config(&brokers)?)?;
        let watermarks = watermarks(&client, &brokers, &topic)?;
        read_until_end(&client, &topic, &watermarks)
    })
    .await
}

/// Returns the messages of one partition that were written at `since` or later, in milliseconds since the Unix epoch, ordered by offset.
/// Reads `most` offsets at most, so that the time is bounded however long the topic is.
///
/// # Errors
/// As [`read_all`], and [`Error::Refused`] if there is no such partition.
pub async fn read_since(
    brokers: &Brokers,
    topic: &str,
    partition: i32,
    since: i64,
    most: i64,
) -> Result<Vec<ReceivedMessage>, Error> {
    let first = offsets_since(brokers, topic, Some(since)).await?.get(&partition).copied();
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::consumer_client(&brokers, &reader_config(&brokers)?)?;
        let end = watermarks(&client, &brokers, &topic)?.get(&partition).map(|(_, end)| *end);
        let (Some(first), Some(end)) = (first, end) else {
            return Err(Error::refused(format!("read {topic}/{partition}"), &"there is no such partition"));
        };
        let range = BTreeMap::from([(partition, (first, end.min(first.saturating_add(most))))]);
        read_until_end(&client, &topic, &range)
    })
    .await
}

pub(super) fn reader_config(brokers: &Brokers) -> Result<ClientConfig, Error> {
    let mut config = brokers.client_config("idem-reader")?;
    config
        .set("group.id", "idem-reader") // the client requires one; this client never joins and never commits
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("isolation.level", "read_committed")
        .set("check.crcs", "true");
    Ok(config)
}

fn read_until_end(
    client: &ConsumerClient,
    topic: &str,
    watermarks: &BTreeMap<i32, (i64, i64)>,
) -> Result<Vec<ReceivedMessage>, Error> {
    let action = format!("read the topic {topic}");
    let mut unread: BTreeMap<i32, i64> = BTreeMap::new();
    let mut list = TopicPartitionList::new();
    for (&partition, &(first, end)) in watermarks.iter().filter(|(_, (first, end))| first < end) {
        unread.insert(partition, end);
        list.add_partition_offset(topic, partition, Offset::Offset(first))
            .map_err(|error| Error::refused(&action, &error))?;
    }
    client.assign(&list).map_err(|error| Error::refused(&action, &error))?;
    let topic: Arc<str> = topic.into();
    let mut messages = Vec::new();
    let mut last_message_at = Instant::now();
    while !unread.is_empty() {
        match client.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                let message = ReceivedMessage::copy_of(&message, &topic);
                let end = unread.get(&message.partition).copied();
                if end.is_some_and(|end| message.offset + 1 >= end) {
                    unread.remove(&message.partition);
                }
                if end.is_some_and(|end| message.offset < end) {
                    messages.push(message);
                }
                last_message_at = Instant::now();
            }
            // Needed beside the offset: offsets may have gaps, so the last message may lie before `end - 1`.
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                unread.remove(&partition);
            }
            Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::BadMessage))) => {
                return Err(Error::refused(action, &"a message has a wrong checksum"));
            }
            Some(Err(_)) | None if last_message_at.elapsed() > READ_TIMEOUT => {
                return Err(Error::refused(action, &format!("no message for {READ_TIMEOUT:?}")));
            }
            Some(Err(_)) | None => {} // the client retries by itself
        }
    }
    messages.sort_by_key(|message| (message.partition, message.offset));
    Ok(messages)
}
