//! Finds the next record that can be read, for a consumer that parks a corrupt record.
//!
//! Each try has a client of its own, which fetches this one partition. A client that tries one offset after the other still delivers
//! errors of its earlier fetches. And behind a wrong checksum librdkafka (2.12 to 2.16) goes on at a wrong place of the response, because
//! `rd_kafka_buf_skip_to` takes a position and gets a length: too early by the length of what precedes the record in the response. A
//! response with one partition has the least of it. Zeros at that place abort the process (an assertion of `rd_slice_narrow_copy`).

use std::time::Instant;

use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, REQUEST_TIMEOUT};
use super::offsets::watermarks;
use super::read_topic::reader_config;
use crate::subscription::is_about_a_record;
use crate::{Brokers, Error};

/// Returns the offset of the first record from `offset` on that can be read, or the end of the partition. Equal to `offset` if
/// that record can be read. If the record has left the log, this is the start of the log.
///
/// A checksum covers many records, and a corrupt batch does not tell how many. Therefore each offset is tried: an offset is skipped only
/// after the client has failed to read it.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::UnknownTopic`] if the topic does not exist; [`Error::Refused`] if the partition
/// does not, if it does not have this offset, or if a try gets no answer for ten seconds.
pub async fn next_readable(
    brokers: &Brokers,
    topic: &str,
    partition: i32,
    offset: i64,
) -> Result<i64, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::consumer_client(&brokers, &reader_config(&brokers)?)?;
        let action = format!("read {topic}/{partition} from offset {offset}");
        let range = watermarks(&client, &brokers, &topic)?.remove(&partition);
        let (first, end) = range.ok_or_else(|| Error::refused(&action, &"there is no such partition"))?;
        if offset < first {
            return Ok(first);
        }
        if offset >= end {
            return Err(Error::refused(&action, &format!("the partition has the offsets {first} to {end}")));
        }
        for candidate in offset..end {
            if let Some(readable) = first_from(&brokers, &topic, partition, candidate)? {
                return Ok(readable.min(end));
            }
        }
        Ok(end)
    })
    .await
}

/// Returns the offset of the first record from `offset` on, or `None` if it cannot be read.
fn first_from(brokers: &Brokers, topic: &str, partition: i32, offset: i64) -> Result<Option<i64>, Error> {
    let action = format!("read {topic}/{partition} from offset {offset}");
    let client = client::consumer_client(brokers, &reader_config(brokers)?)?;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, partition, Offset::Offset(offset))
        .and_then(|()| client.assign(&list))
        .map_err(|error| Error::refused(&action, &error))?;
    let begun = Instant::now();
    while begun.elapsed() < REQUEST_TIMEOUT {
        match client.poll(REQUEST_TIMEOUT) {
            Some(Ok(message)) => return Ok(Some(rdkafka::Message::offset(&message))),
            Some(Err(KafkaError::PartitionEOF(_))) => return Ok(Some(i64::MAX)),
            Some(Err(error)) if is_about_a_record(&error) => return Ok(None),
            Some(Err(_)) | None => {} // the client retries by itself
        }
    }
    Err(Error::refused(&action, &format!("no answer for {REQUEST_TIMEOUT:?}")))
}
