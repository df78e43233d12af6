//! Prints the topics and the position of each consumer group: the first thing to look at when an order does not proceed.

use crate::Result;
use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::KafkaResult,
    metadata::MetadataPartition,
};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

struct Topic {
    name: String,
    /// The first and the next offset of each partition.
    watermarks: Vec<(i64, i64)>,
}

impl Topic {
    fn line(&self) -> String {
        let messages: i64 = self.watermarks.iter().map(|(low, high)| high - low).sum();
        let ends: Vec<_> = self.watermarks.iter().map(|(_, high)| high.to_string()).collect();
        format!(
            "{}: {messages} messages, {} partitions, end offsets {}",
            self.name,
            ends.len(),
            ends.join(" ")
        )
    }
}

/// Prints one line per topic, and below it one line for each group that has committed offsets.
pub(crate) fn print(brokers: &str, prefix: &str) -> Result<()> {
    let lines =
        report(brokers, prefix).map_err(|error| format!("cannot read the topics at {brokers}: {error}"))?;
    println!("{}", lines.join("\n"));
    Ok(())
}

fn report(brokers: &str, prefix: &str) -> KafkaResult<Vec<String>> {
    let client = connect(brokers, "devtool")?;
    let mut names: Vec<_> = client
        .fetch_group_list(None, TIMEOUT)?
        .groups()
        .iter()
        .map(|group| group.name().to_owned())
        .collect();
    names.sort();
    let groups = names
        .into_iter()
        .map(|name| connect(brokers, &name).map(|client| (name, client)))
        .collect::<KafkaResult<Vec<_>>>()?;
    let mut lines = Vec::new();
    for topic in topics(&client, prefix)? {
        lines.push(topic.line());
        for (name, group) in &groups {
            lines.extend(position(group, &topic)?.map(|position| format!("    group {name}: {position}")));
        }
    }
    if lines.is_empty() {
        lines.push("no topics".to_owned());
    }
    Ok(lines)
}

fn connect(brokers: &str, group: &str) -> KafkaResult<BaseConsumer> {
    ClientConfig::new().set("bootstrap.servers", brokers).set("group.id", group).create()
}

fn topics(client: &BaseConsumer, prefix: &str) -> KafkaResult<Vec<Topic>> {
    let metadata = client.fetch_metadata(None, TIMEOUT)?;
    let mut topics = Vec::new();
    for topic in metadata.topics() {
        let internal = topic.name().starts_with("__");
        if internal || !topic.name().starts_with(prefix) {
            continue;
        }
        let mut partitions: Vec<_> = topic.partitions().iter().map(MetadataPartition::id).collect();
        partitions.sort_unstable();
        let watermarks = partitions
            .into_iter()
            .map(|partition| client.fetch_watermarks(topic.name(), partition, TIMEOUT))
            .collect::<KafkaResult<_>>()?;
        topics.push(Topic { name: topic.name().to_owned(), watermarks });
    }
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(topics)
}

/// The committed offsets and the lag of a group on a topic; `None` if the group has committed none.
fn position(group: &BaseConsumer, topic: &Topic) -> KafkaResult<Option<String>> {
    let mut partitions = TopicPartitionList::new();
    for partition in (0..).take(topic.watermarks.len()) {
        partitions.add_partition(&topic.name, partition);
    }
    let response = group.committed_offsets(partitions, TIMEOUT)?;
    let committed: Vec<Option<i64>> = response
        .elements()
        .iter()
        .map(|element| match element.offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        })
        .collect();
    if committed.iter().all(Option::is_none) {
        return Ok(None);
    }
    let lag: i64 = std::iter::zip(&committed, &topic.watermarks)
        .map(|(committed, (low, high))| high - committed.unwrap_or(*low))
        .sum();
    let offsets: Vec<_> = committed
        .iter()
        .map(|offset| offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string()))
        .collect();
    Ok(Some(format!("committed {}, lag {lag}", offsets.join(" "))))
}

#[cfg(test)]
mod tests;
