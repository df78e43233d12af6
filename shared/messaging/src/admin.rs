//! What operators, audits and tests ask of Kafka: offsets, whole topics, and taking things away.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};
use tokio::runtime::Handle;

use crate::client::{self, PATIENCE, Quiet};
use crate::topics::{admin_client, admin_options};
use crate::{Brokers, Error, Received};

pub use crate::places::{Places, members, offsets_since, rewind_group, set_places};

/// How long `read_all` waits for the next message.
const SILENCE: Duration = Duration::from_secs(30);

/// For each partition the offset that its next message will get.
pub async fn end_offsets(brokers: &Brokers, topic: &str) -> Result<BTreeMap<i32, i64>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::questioner(&brokers)?;
        let watermarks = watermarks(&client, &brokers, &topic)?;
        Ok(watermarks.into_iter().map(|(partition, (_, end))| (partition, end)).collect())
    })
    .await
}

/// For each partition the offset at which the group goes on; `None` where it has committed nothing.
pub async fn committed_offsets(
    brokers: &Brokers,
    group: &str,
    topic: &str,
) -> Result<BTreeMap<i32, Option<i64>>, Error> {
    let (brokers, group, topic) = (brokers.clone(), group.to_owned(), topic.to_owned());
    client::blocking(move || {
        let client = in_the_name_of(&brokers, &group)?;
        let mut list = TopicPartitionList::new();
        for partition in client::partitions(&client, &brokers, &topic)? {
            list.add_partition(&topic, partition);
        }
        let action = format!("read the offsets of the group {group}");
        let list = client
            .committed_offsets(list, PATIENCE)
            .map_err(|error| client::unreachable_or(&brokers, PATIENCE, &action, &error))?;
        list.elements()
            .iter()
            .map(|element| {
                element.error().map_err(|error| Error::refused(&action, &error))?;
                Ok((element.partition(), committed(element.offset())))
            })
            .collect()
    })
    .await
}

fn committed(offset: Offset) -> Option<i64> {
    if let Offset::Offset(offset) = offset { Some(offset) } else { None }
}

/// Every message of a topic, from its first to the last that is there now; by partition, then offset.
pub async fn read_all(brokers: &Brokers, topic: &str) -> Result<Vec<Received>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let mut config = brokers.client_config("idem-reader");
        config
            .set("group.id", "idem-reader") // demanded by the client; it never joins and never commits
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true");
        let client = BaseConsumer::from_config_and_context(&config, Quiet)
            .map_err(|error| Error::configuration(&error))?;
        let watermarks = watermarks(&client, &brokers, &topic)?;
        read_to_the_end(&client, &topic, &watermarks)
    })
    .await
}

fn read_to_the_end(
    client: &BaseConsumer<Quiet>,
    topic: &str,
    watermarks: &BTreeMap<i32, (i64, i64)>,
) -> Result<Vec<Received>, Error> {
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
    let mut last_heard = Instant::now();
    while !unread.is_empty() {
        match client.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                let message = Received::copy_of(&message, &topic);
                let end = unread.get(&message.partition).copied();
                if end.is_some_and(|end| message.offset + 1 >= end) {
                    unread.remove(&message.partition);
                }
                if end.is_some_and(|end| message.offset < end) {
                    messages.push(message);
                }
                last_heard = Instant::now();
            }
            // Offsets may have gaps, so the last message can stand before the end.
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                unread.remove(&partition);
            }
            Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::BadMessage))) => {
                return Err(Error::refused(action, &"a message has a wrong checksum"));
            }
            Some(Err(_)) | None if last_heard.elapsed() > SILENCE => {
                return Err(Error::refused(action, &format!("no message for {SILENCE:?}")));
            }
            Some(Err(_)) | None => {}
        }
    }
    messages.sort_by_key(|message| (message.partition, message.offset));
    Ok(messages)
}

/// Deletes topics; those that do not exist are deleted already.
pub async fn delete_topics(brokers: &Brokers, topics: &[&str]) -> Result<(), Error> {
    let (brokers, runtime) = (brokers.clone(), Handle::current());
    let topics: Vec<String> = topics.iter().map(ToString::to_string).collect();
    client::blocking(move || {
        let client = admin_client(&brokers)?;
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        let results = runtime.block_on(client.delete_topics(&names, &admin_options()));
        deleted(results, &brokers, "topic", RDKafkaErrorCode::UnknownTopicOrPartition)
    })
    .await
}

/// Deletes groups with their offsets; those that do not exist are deleted already. A group must have no members.
pub async fn delete_groups(brokers: &Brokers, groups: &[&str]) -> Result<(), Error> {
    let (brokers, runtime) = (brokers.clone(), Handle::current());
    let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
    client::blocking(move || {
        let client = admin_client(&brokers)?;
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        let results = runtime.block_on(client.delete_groups(&names, &admin_options()));
        deleted(results, &brokers, "group", RDKafkaErrorCode::GroupIdNotFound)
    })
    .await
}

type Deletion = Result<String, (String, RDKafkaErrorCode)>;

fn deleted(
    results: Result<Vec<Deletion>, KafkaError>,
    brokers: &Brokers,
    kind: &str,
    absent: RDKafkaErrorCode,
) -> Result<(), Error> {
    let action = format!("delete a {kind}");
    let results = results.map_err(|error| client::unreachable_or(brokers, PATIENCE, &action, &error))?;
    for result in results {
        match result {
            Ok(_) => {}
            Err((_, code)) if code == absent => {}
            Err((group, RDKafkaErrorCode::NonEmptyGroup)) => return Err(Error::GroupActive { group }),
            Err((name, code)) => return Err(Error::refused(format!("delete the {kind} {name}"), &code)),
        }
    }
    Ok(())
}

/// A client that asks about a group's offsets, or sets them, without joining it.
pub(crate) fn in_the_name_of(brokers: &Brokers, group: &str) -> Result<BaseConsumer<Quiet>, Error> {
    let mut config = brokers.client_config("idem-admin");
    config.set("group.id", group).set("enable.auto.commit", "false");
    BaseConsumer::from_config_and_context(&config, Quiet).map_err(|error| Error::configuration(&error))
}

/// For each partition the first offset and the end.
pub(crate) fn watermarks(
    client: &BaseConsumer<Quiet>,
    brokers: &Brokers,
    topic: &str,
) -> Result<BTreeMap<i32, (i64, i64)>, Error> {
    let action = format!("read the offsets of the topic {topic}");
    client::partitions(client, brokers, topic)?
        .into_iter()
        .map(|partition| {
            let found = client
                .fetch_watermarks(topic, partition, PATIENCE)
                .map_err(|error| client::unreachable_or(brokers, PATIENCE, &action, &error))?;
            Ok((partition, found))
        })
        .collect()
}
