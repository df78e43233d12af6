//! Offsets of a topic's partitions, and the offsets that a consumer group has committed there. Only reads.

use std::collections::BTreeMap;

use rdkafka::consumer::Consumer;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, ConsumerClient, REQUEST_TIMEOUT};
use super::metadata::read_partitions;
use crate::{Brokers, Error};

/// Returns for each partition the offset of its first record, and the one that its next record will get.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::UnknownTopic`] if the topic does not exist.
pub async fn offset_ranges(brokers: &Brokers, topic: &str) -> Result<BTreeMap<i32, (i64, i64)>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || watermarks(&client::metadata_client(&brokers)?, &brokers, &topic)).await
}

/// Returns for each partition the offset that its next record will get.
///
/// # Errors
/// As [`offset_ranges`].
pub async fn end_offsets(brokers: &Brokers, topic: &str) -> Result<BTreeMap<i32, i64>, Error> {
    let ranges = offset_ranges(brokers, topic).await?;
    Ok(ranges.into_iter().map(|(partition, (_, end))| (partition, end)).collect())
}

/// Returns for each partition the offset that the group reads next; `None` if it has committed no offset there.
///
/// # Errors
/// As [`offset_ranges`].
pub async fn committed_offsets(
    brokers: &Brokers,
    group: &str,
    topic: &str,
) -> Result<BTreeMap<i32, Option<i64>>, Error> {
    let (brokers, group, topic) = (brokers.clone(), group.to_owned(), topic.to_owned());
    client::blocking(move || {
        let client = client::group_client(&brokers, &group)?;
        let mut list = TopicPartitionList::new();
        for partition in read_partitions(&client, &brokers, &topic)? {
            list.add_partition(&topic, partition);
        }
        let action = format!("read the offsets of the group {group}");
        let list = client
            .committed_offsets(list, REQUEST_TIMEOUT)
            .map_err(|error| client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, &action, &error))?;
        list.elements()
            .iter()
            .map(|element| {
                element.error().map_err(|error| Error::refused(&action, &error))?;
                Ok((element.partition(), known_offset(element.offset())))
            })
            .collect()
    })
    .await
}

/// Returns for each partition the offset of the first record that was written at `since` or later, in milliseconds
/// since the Unix epoch. If there is no such record, it is the end offset. Without `since` it is the first offset.
///
/// # Errors
/// As [`offset_ranges`].
pub async fn offsets_since(
    brokers: &Brokers,
    topic: &str,
    since: Option<i64>,
) -> Result<BTreeMap<i32, i64>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::metadata_client(&brokers)?;
        let watermarks = watermarks(&client, &brokers, &topic)?;
        let Some(since) = since else {
            return Ok(watermarks.into_iter().map(|(partition, (first, _))| (partition, first)).collect());
        };
        let action = format!("find the records of {topic} since a point in time");
        let mut list = TopicPartitionList::new();
        for partition in watermarks.keys() {
            list.add_partition_offset(&topic, *partition, Offset::Offset(since))
                .map_err(|error| Error::refused(&action, &error))?;
        }
        let found = client
            .offsets_for_times(list, REQUEST_TIMEOUT)
            .map_err(|error| client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, &action, &error))?;
        let mut offsets: BTreeMap<i32, i64> =
            watermarks.into_iter().map(|(partition, (_, end))| (partition, end)).collect();
        for element in found.elements() {
            element.error().map_err(|error| Error::refused(&action, &error))?;
            if let Some(offset) = known_offset(element.offset()) {
                offsets.insert(element.partition(), offset);
            }
        }
        Ok(offsets)
    })
    .await
}

/// Returns for each partition its first offset and its end offset.
pub(super) fn watermarks(
    client: &ConsumerClient,
    brokers: &Brokers,
    topic: &str,
) -> Result<BTreeMap<i32, (i64, i64)>, Error> {
    let action = format!("read the offsets of the topic {topic}");
    read_partitions(client, brokers, topic)?
        .into_iter()
        .map(|partition| {
            let found = client
                .fetch_watermarks(topic, partition, REQUEST_TIMEOUT)
                .map_err(|error| client::unreachable_or_refused(brokers, REQUEST_TIMEOUT, &action, &error))?;
            Ok((partition, found))
        })
        .collect()
}

fn known_offset(offset: Offset) -> Option<i64> {
    if let Offset::Offset(offset) = offset { Some(offset) } else { None }
}
