//! Consumer groups: their members, setting their offsets, deleting them.
//!
//! Offsets are set and groups are deleted only while the group has no members. Otherwise the brokers refuse, and the
//! functions return [`Error::GroupActive`].

use std::collections::{BTreeMap, BTreeSet};

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tokio::runtime::Handle;

use super::client::{self, REQUEST_TIMEOUT};
use super::offsets::offsets_since;
use super::topics::check_deletions;
use crate::{Brokers, Error};

/// For each topic and partition, the offset that the group reads next.
pub type GroupOffsets = BTreeMap<(String, i32), i64>;

/// Returns the names of all groups, in order.
///
/// # Errors
/// [Those of every call](super#errors).
pub async fn groups(brokers: &Brokers) -> Result<Vec<String>, Error> {
    let brokers = brokers.clone();
    client::blocking(move || {
        let list = client::metadata_client(&brokers)?.fetch_group_list(None, REQUEST_TIMEOUT);
        let list = list.map_err(|error| {
            client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, "list the groups", &error)
        })?;
        let mut names: Vec<String> = list.groups().iter().map(|group| group.name().to_owned()).collect();
        names.sort_unstable();
        Ok(names)
    })
    .await
}

/// Returns the present members of a group, each as its client's name and host.
///
/// # Errors
/// [Those of every call](super#errors).
pub async fn members(brokers: &Brokers, group: &str) -> Result<Vec<String>, Error> {
    let (brokers, group) = (brokers.clone(), group.to_owned());
    client::blocking(move || {
        let action = format!("read the members of the group {group}");
        let list = client::metadata_client(&brokers)?
            .fetch_group_list(Some(&group), REQUEST_TIMEOUT)
            .map_err(|error| client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, &action, &error))?;
        let found = list.groups().iter().filter(|found| found.name() == group);
        let members = found.flat_map(|found| found.members().iter());
        Ok(members.map(|member| format!("{} at {}", member.client_id(), member.client_host())).collect())
    })
    .await
}

/// Sets the offsets that the group reads next. Partitions that are not named keep theirs.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::GroupActive`] if the group has members.
pub async fn set_group_offsets(brokers: &Brokers, group: &str, offsets: &GroupOffsets) -> Result<(), Error> {
    let (brokers, group, offsets) = (brokers.clone(), group.to_owned(), offsets.clone());
    client::blocking(move || {
        let client = client::group_client(&brokers, &group)?;
        let action = format!("set the offsets of the group {group}");
        let mut list = TopicPartitionList::new();
        for ((topic, partition), offset) in &offsets {
            list.add_partition_offset(topic, *partition, Offset::Offset(*offset))
                .map_err(|error| Error::refused(&action, &error))?;
        }
        client.commit(&list, CommitMode::Sync).map_err(|error| match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::UnknownMemberId | RDKafkaErrorCode::IllegalGeneration) => {
                Error::GroupActive { group }
            }
            _ => client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, &action, &error),
        })
    })
    .await
}

/// Sets the group to offset 0 in every partition of these topics.
///
/// # Errors
/// As [`set_group_offsets`], and [`Error::UnknownTopic`] if a topic does not exist.
pub async fn rewind_group(brokers: &Brokers, group: &str, topics: &[&str]) -> Result<(), Error> {
    let mut offsets = GroupOffsets::new();
    for topic in topics {
        let partitions = offsets_since(brokers, topic, None).await?.into_keys();
        offsets.extend(partitions.map(|partition| (((*topic).to_owned(), partition), 0)));
    }
    set_group_offsets(brokers, group, &offsets).await
}

/// Deletes groups and their offsets. A group that does not exist counts as deleted.
///
/// # Errors
/// [Those of every call](super#errors); [`Error::GroupActive`] if a group has members. Others may be deleted then.
pub async fn delete_groups(brokers: &Brokers, groups: &[&str]) -> Result<(), Error> {
    if groups.is_empty() {
        return Ok(()); // the client refuses an empty list
    }
    let (brokers, runtime) = (brokers.clone(), Handle::current());
    // The brokers refuse a request that names a group twice.
    let groups: BTreeSet<String> = groups.iter().map(ToString::to_string).collect();
    client::blocking(move || {
        let client = client::admin_client(&brokers, "delete groups")?;
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        let results = runtime.block_on(client.delete_groups(&names, &client::admin_options()));
        check_deletions(results, &brokers, "group", RDKafkaErrorCode::GroupIdNotFound)
    })
    .await
}
