//! Creates topics before they are used, and describes them.
//!
//! The brokers are configured to create no topic by themselves. Partitions may be added to a topic: a key then maps to
//! another partition, and the inbox restores the order of its messages. A topic with too few partitions is refused.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdkafka::admin::{NewTopic, TopicReplication};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::metadata::{Metadata, MetadataPartition, MetadataTopic};
use tokio::runtime::Handle;

use super::client::{self, ConsumerClient, REQUEST_TIMEOUT};
use super::metadata::read_metadata;
use super::partition_of;
use crate::{Brokers, Error};

/// A topic that a service needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSpec {
    /// Its name.
    pub name: String,
    /// The number of its partitions.
    pub partitions: i32,
}

impl TopicSpec {
    /// Describes the topic `name` with this number of partitions.
    pub fn new(name: impl Into<String>, partitions: i32) -> Self {
        Self { name: name.into(), partitions }
    }
}

/// Creates the topics that do not exist, and returns once every partition has a leader.
///
/// An existing topic is left unchanged; if all exist, no right to create topics is needed. A topic with fewer partitions is
/// an error. An existing partition that stays without a leader is logged and does not stop the caller. New topics get the brokers'
/// default replication factor. Several processes may call this at the same time.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::PartitionCount`] if a topic has too few partitions; [`Error::Refused`] if the
/// brokers do not show a new topic within ten seconds.
pub async fn ensure(brokers: &Brokers, topics: &[TopicSpec]) -> Result<(), Error> {
    let (brokers, topics) = (brokers.clone(), topics.to_vec());
    let runtime = Handle::current();
    client::blocking(move || {
        let client = client::metadata_client(&brokers)?;
        let missing = find_missing(&read_metadata(&client, &brokers, REQUEST_TIMEOUT)?, &topics)?;
        if !missing.is_empty() {
            runtime.block_on(create(&brokers, &missing))?;
        }
        wait_until_usable(&client, &brokers, &topics)
    })
    .await
}

async fn create(brokers: &Brokers, topics: &[TopicSpec]) -> Result<(), Error> {
    let names: Vec<&str> = topics.iter().map(|topic| &*topic.name).collect();
    let client = client::admin_client(brokers, &format!("create the topics {}", names.join(", ")))?;
    let new: Vec<NewTopic<'_>> = topics
        .iter()
        .map(|topic| NewTopic::new(&topic.name, topic.partitions, TopicReplication::Fixed(-1)))
        .collect();
    let results = client
        .create_topics(&new, &client::admin_options())
        .await
        .map_err(|error| client::unreachable_or_refused(brokers, REQUEST_TIMEOUT, "create topics", &error))?;
    for result in results {
        match result {
            Ok(name) => tracing::info!(target: "kafka", topic = name, "topic created"),
            Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => return Err(Error::refused(format!("create the topic {name}"), &code)),
        }
    }
    Ok(())
}

/// Waits, because a created topic reaches the other brokers and gets its leaders a moment later.
fn wait_until_usable(client: &ConsumerClient, brokers: &Brokers, topics: &[TopicSpec]) -> Result<(), Error> {
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    loop {
        let metadata = read_metadata(client, brokers, REQUEST_TIMEOUT)?;
        let missing = find_missing(&metadata, topics)?;
        let found = topics.iter().filter_map(|topic| find_topic(&metadata, &topic.name));
        let leaderless: Vec<TopicState> =
            found.map(TopicState::of).filter(|topic| !topic.has_leaders()).collect();
        if missing.is_empty() && leaderless.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            if let Some(topic) = missing.first() {
                let action = format!("use the topic {}", topic.name);
                return Err(Error::refused(action, &"the brokers do not show it"));
            }
            tracing::warn!(target: "kafka", ?leaderless, "partitions have no leader");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the topics that do not exist.
fn find_missing(metadata: &Metadata, topics: &[TopicSpec]) -> Result<Vec<TopicSpec>, Error> {
    let mut missing = Vec::new();
    for topic in topics {
        match find_topic(metadata, &topic.name).map(|found| found.partitions().len()) {
            None => missing.push(topic.clone()),
            Some(found) if i32::try_from(found).is_ok_and(|found| found >= topic.partitions) => {}
            Some(found) => {
                let (topic, expected) = (topic.name.clone(), topic.partitions);
                return Err(Error::PartitionCount { topic, expected, found });
            }
        }
    }
    Ok(missing)
}

/// A topic as the brokers describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicState {
    /// Its name.
    pub name: String,
    /// The number of its partitions.
    pub partitions: u32,
    /// Its partitions without a leader. No record can be written to them until one of their brokers returns.
    pub leaderless: BTreeSet<u32>,
    /// The number of replicas of the partition with the fewest.
    pub replicas: usize,
    /// The number of replicas that have every record, of the partition with the fewest.
    pub in_sync: usize,
}

impl TopicState {
    fn of(topic: &MetadataTopic) -> Self {
        let partitions = topic.partitions();
        let fewest =
            |count: fn(&MetadataPartition) -> usize| partitions.iter().map(count).min().unwrap_or_default();
        let leaderless = partitions.iter().filter(|partition| partition.leader() < 0);
        Self {
            name: topic.name().to_owned(),
            partitions: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
            leaderless: leaderless.map(|partition| partition.id().cast_unsigned()).collect(),
            replicas: fewest(|partition| partition.replicas().len()),
            in_sync: fewest(|partition| partition.isr().len()),
        }
    }

    /// Returns whether each partition has a leader.
    pub fn has_leaders(&self) -> bool {
        self.leaderless.is_empty()
    }

    /// Returns whether the partition of this key has a leader.
    pub fn has_leader_for(&self, key: &[u8]) -> bool {
        !self.leaderless.contains(&partition_of(key, self.partitions))
    }
}

/// Returns the names of all topics but Kafka's own, in order.
///
/// # Errors
/// [Those of every call](super#errors).
pub async fn names(brokers: &Brokers) -> Result<Vec<String>, Error> {
    let brokers = brokers.clone();
    client::blocking(move || {
        let metadata = read_metadata(&client::metadata_client(&brokers)?, &brokers, REQUEST_TIMEOUT)?;
        let names = metadata.topics().iter().map(MetadataTopic::name).filter(|name| !name.starts_with("__"));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    })
    .await
}

/// Describes those of the topics that exist.
///
/// # Errors
/// [Those of every call](super#errors), after five seconds.
pub async fn describe(brokers: &Brokers, topics: &[String]) -> Result<Vec<TopicState>, Error> {
    let (brokers, topics) = (brokers.clone(), topics.to_vec());
    client::blocking(move || {
        let metadata = read_metadata(&client::metadata_client(&brokers)?, &brokers, REQUEST_TIMEOUT / 2)?;
        Ok(topics.iter().filter_map(|topic| find_topic(&metadata, topic)).map(TopicState::of).collect())
    })
    .await
}

/// Returns a topic that exists.
fn find_topic<'m>(metadata: &'m Metadata, name: &str) -> Option<&'m MetadataTopic> {
    let exists = |topic: &&MetadataTopic| {
        topic.name() == name && topic.error().is_none() && !topic.partitions().is_empty()
    };
    metadata.topics().iter().find(exists)
}
