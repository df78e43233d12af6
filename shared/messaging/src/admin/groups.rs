//! Consumer groups: their members, and setting their offsets.
//!
//! Offsets are set only while the group has no members. Otherwise the brokers refuse, and the function returns
//! [`Error::GroupActive`].

use std::collections::BTreeMap;

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{self, REQUEST_TIMEOUT};
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
