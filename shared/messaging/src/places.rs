//! The places of a consumer group: who holds them, where others would be, and setting them.

use std::collections::BTreeMap;

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use crate::admin::{in_the_name_of, watermarks};
use crate::client::{self, PATIENCE};
use crate::{Brokers, Error};

/// Topic, partition, and the offset at which the group goes on.
pub type Places = BTreeMap<(String, i32), i64>;

/// The members that a group has at this moment: for each its client's name and host. None: the group may be moved.
pub async fn members(brokers: &Brokers, group: &str) -> Result<Vec<String>, Error> {
    let (brokers, group) = (brokers.clone(), group.to_owned());
    client::blocking(move || {
        let action = format!("read the members of the group {group}");
        let list = client::questioner(&brokers)?
            .fetch_group_list(Some(&group), PATIENCE)
            .map_err(|error| client::unreachable_or(&brokers, PATIENCE, &action, &error))?;
        let found = list.groups().iter().filter(|found| found.name() == group);
        let members = found.flat_map(|found| found.members().iter());
        Ok(members.map(|member| format!("{} at {}", member.client_id(), member.client_host())).collect())
    })
    .await
}

/// For each partition of a topic the first offset that is there, or the first one that was written at `since` (in
/// milliseconds since the Unix epoch) or later; the end if there is none.
pub async fn offsets_since(
    brokers: &Brokers,
    topic: &str,
    since: Option<i64>,
) -> Result<BTreeMap<i32, i64>, Error> {
    let (brokers, topic) = (brokers.clone(), topic.to_owned());
    client::blocking(move || {
        let client = client::questioner(&brokers)?;
        let ends = watermarks(&client, &brokers, &topic)?;
        let Some(since) = since else {
            return Ok(ends.into_iter().map(|(partition, (first, _))| (partition, first)).collect());
        };
        let action = format!("find the messages of {topic} since a moment");
        let mut list = TopicPartitionList::new();
        for partition in ends.keys() {
            list.add_partition_offset(&topic, *partition, Offset::Offset(since))
                .map_err(|error| Error::refused(&action, &error))?;
        }
        let found = client
            .offsets_for_times(list, PATIENCE)
            .map_err(|error| client::unreachable_or(&brokers, PATIENCE, &action, &error))?;
        let mut offsets: BTreeMap<i32, i64> = ends.into_iter().map(|(p, (_, end))| (p, end)).collect();
        for element in found.elements() {
            element.error().map_err(|error| Error::refused(&action, &error))?;
            if let Offset::Offset(offset) = element.offset() {
                offsets.insert(element.partition(), offset);
            }
        }
        Ok(offsets)
    })
    .await
}

/// Makes the group go on at these places. It must have no members.
pub async fn set_places(brokers: &Brokers, group: &str, places: &Places) -> Result<(), Error> {
    let (brokers, group, places) = (brokers.clone(), group.to_owned(), places.clone());
    client::blocking(move || {
        let client = in_the_name_of(&brokers, &group)?;
        let action = format!("set the places of the group {group}");
        let mut list = TopicPartitionList::new();
        for ((topic, partition), offset) in &places {
            list.add_partition_offset(topic, *partition, Offset::Offset(*offset))
                .map_err(|error| Error::refused(&action, &error))?;
        }
        client.commit(&list, CommitMode::Sync).map_err(|error| match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::UnknownMemberId | RDKafkaErrorCode::IllegalGeneration) => {
                Error::GroupActive { group }
            }
            _ => client::unreachable_or(&brokers, PATIENCE, &action, &error),
        })
    })
    .await
}

/// Makes the group begin these topics again at offset 0. The group must have no members.
pub async fn rewind_group(brokers: &Brokers, group: &str, topics: &[&str]) -> Result<(), Error> {
    let mut places = Places::new();
    for topic in topics {
        let partitions = offsets_since(brokers, topic, None).await?.into_keys();
        places.extend(partitions.map(|partition| (((*topic).to_owned(), partition), 0)));
    }
    set_places(brokers, group, &places).await
}
