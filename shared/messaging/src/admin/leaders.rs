//! Partitions without a leader: no record can be written to them until one of their brokers returns.

use std::collections::BTreeSet;

use rdkafka::metadata::{Metadata, MetadataTopic};

use super::client::{self, REQUEST_TIMEOUT};
use super::metadata::read_metadata;
use super::partition_of;
use crate::{Brokers, Error};

/// A topic with partitions that have no leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderlessTopic {
    /// Its name.
    pub name: String,
    /// The partitions that have no leader.
    pub leaderless: BTreeSet<u32>,
    /// The number of all of its partitions.
    pub partitions: u32,
}

impl LeaderlessTopic {
    /// Returns whether a record with this key goes to a partition without a leader.
    pub fn includes(&self, key: &[u8]) -> bool {
        self.leaderless.contains(&partition_of(key, self.partitions))
    }
}

/// Returns those of the topics that have partitions without a leader. A topic that does not exist is not among them.
///
/// # Errors
/// [Those of every call](super#errors), after five seconds.
pub async fn leaderless(brokers: &Brokers, topics: &[String]) -> Result<Vec<LeaderlessTopic>, Error> {
    let (brokers, topics) = (brokers.clone(), topics.to_vec());
    client::blocking(move || {
        let metadata = read_metadata(&client::metadata_client(&brokers)?, &brokers, REQUEST_TIMEOUT / 2)?;
        Ok(find_leaderless(&metadata, topics.iter().map(String::as_str)))
    })
    .await
}

pub(super) fn find_leaderless<'t>(
    metadata: &Metadata,
    topics: impl Iterator<Item = &'t str>,
) -> Vec<LeaderlessTopic> {
    topics.filter_map(|topic| find_topic(metadata, topic)).filter_map(leaderless_partitions).collect()
}

/// Returns a topic that exists.
pub(super) fn find_topic<'m>(metadata: &'m Metadata, name: &str) -> Option<&'m MetadataTopic> {
    let exists = |topic: &&MetadataTopic| {
        topic.name() == name && topic.error().is_none() && !topic.partitions().is_empty()
    };
    metadata.topics().iter().find(exists)
}

fn leaderless_partitions(topic: &MetadataTopic) -> Option<LeaderlessTopic> {
    let without_leader = topic.partitions().iter().filter(|partition| partition.leader() < 0);
    let leaderless: BTreeSet<u32> = without_leader.map(|partition| partition.id().cast_unsigned()).collect();
    let partitions = u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX);
    (!leaderless.is_empty()).then(|| LeaderlessTopic {
        name: topic.name().to_owned(),
        leaderless,
        partitions,
    })
}
