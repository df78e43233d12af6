//! Prints the topics and the position of each consumer group: the first thing to look at when an order does not proceed.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use messaging::{Brokers, Error, admin, topics};
use serde::Serialize;

use crate::Result;

/// The first and the next offset of each partition of a topic.
type Ranges = BTreeMap<i32, (i64, i64)>;

/// How many topics are read at once: each has a connection of its own.
const AT_ONCE: usize = 8;

/// A topic, and the groups that have committed offsets on it.
#[derive(Debug, Serialize)]
struct TopicReport {
    topic: String,
    messages: i64,
    /// The next offset of each partition.
    ends: Vec<i64>,
    groups: Vec<GroupPosition>,
}

/// The position of a consumer group on a topic.
#[derive(Debug, Serialize)]
struct GroupPosition {
    group: String,
    /// The committed offset of each partition; null without one.
    committed: Vec<Option<i64>>,
    /// Messages that the group has still to read, over all partitions.
    lag: i64,
}

/// Prints each topic whose name has the prefix: as text or as JSON.
pub(crate) async fn print(brokers: &Brokers, prefix: &str, json: bool) -> Result<()> {
    let topics = report(brokers, prefix).await.map_err(|error| format!("cannot read the topics: {error}"))?;
    if json {
        println!("{}", serde_json::json!({ "topics": topics }));
    } else if topics.is_empty() {
        println!("no topics");
    } else {
        print!("{}", topics.iter().map(TopicReport::to_string).collect::<String>());
    }
    Ok(())
}

async fn report(brokers: &Brokers, prefix: &str) -> std::result::Result<Vec<TopicReport>, Error> {
    let groups = admin::groups(brokers).await?;
    let topics = topics::names(brokers).await?.into_iter().filter(|topic| topic.starts_with(prefix));
    stream::iter(topics)
        .map(|topic| report_topic(brokers, topic, &groups))
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

async fn report_topic(
    brokers: &Brokers,
    topic: String,
    groups: &[String],
) -> std::result::Result<TopicReport, Error> {
    let ranges = admin::offset_ranges(brokers, &topic).await?;
    let mut positions = Vec::new();
    for group in groups {
        let committed = admin::committed_offsets(brokers, group, &topic).await?;
        positions.extend(position(group, &committed, &ranges));
    }
    let messages = ranges.values().map(|(first, end)| end - first).sum();
    let ends = ranges.values().map(|(_, end)| *end).collect();
    Ok(TopicReport { topic, messages, ends, groups: positions })
}

/// The position of a group on a topic; `None` if the group has committed no offset.
fn position(group: &str, committed: &BTreeMap<i32, Option<i64>>, ranges: &Ranges) -> Option<GroupPosition> {
    if committed.values().all(Option::is_none) {
        return None;
    }
    let next = |partition: &i32, first: i64| committed.get(partition).copied().flatten().unwrap_or(first);
    let lag = ranges.iter().map(|(partition, (first, end))| end - next(partition, *first)).sum();
    Some(GroupPosition { group: group.to_owned(), committed: committed.values().copied().collect(), lag })
}

/// One line for the topic, and below it one line for each group.
impl fmt::Display for TopicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, messages, ends, groups } = self;
        let offsets: Vec<_> = ends.iter().map(i64::to_string).collect();
        let partitions = ends.len();
        writeln!(
            f,
            "{topic}: {messages} messages, {partitions} partitions, end offsets {}",
            offsets.join(" ")
        )?;
        for GroupPosition { group, committed, lag } in groups {
            let offset = |offset: &Option<i64>| offset.map_or("-".to_owned(), |offset| offset.to_string());
            let offsets: Vec<_> = committed.iter().map(offset).collect();
            writeln!(f, "    group {group}: committed {}, lag {lag}", offsets.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
