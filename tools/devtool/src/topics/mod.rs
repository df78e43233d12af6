//! Prints the topics and the position of each consumer group: the first thing to look at when an order does not proceed.

use std::collections::BTreeMap;

use messaging::{Brokers, Error, admin, topics};

use crate::Result;

/// The first and the next offset of each partition of a topic.
type Ranges = BTreeMap<i32, (i64, i64)>;

/// Prints one line per topic, and below it one line for each group that has committed offsets.
pub(crate) async fn print(brokers: &Brokers, prefix: &str) -> Result<()> {
    let lines = report(brokers, prefix).await.map_err(|error| format!("cannot read the topics: {error}"))?;
    println!("{}", lines.join("\n"));
    Ok(())
}

async fn report(brokers: &Brokers, prefix: &str) -> std::result::Result<Vec<String>, Error> {
    let groups = admin::groups(brokers).await?;
    let mut lines = Vec::new();
    for topic in topics::names(brokers).await?.into_iter().filter(|topic| topic.starts_with(prefix)) {
        let ranges = admin::offset_ranges(brokers, &topic).await?;
        lines.push(line(&topic, &ranges));
        for group in &groups {
            let committed = admin::committed_offsets(brokers, group, &topic).await?;
            lines.extend(
                position(&committed, &ranges).map(|position| format!("    group {group}: {position}")),
            );
        }
    }
    if lines.is_empty() {
        lines.push("no topics".to_owned());
    }
    Ok(lines)
}

fn line(topic: &str, ranges: &Ranges) -> String {
    let messages: i64 = ranges.values().map(|(first, end)| end - first).sum();
    let ends: Vec<_> = ranges.values().map(|(_, end)| end.to_string()).collect();
    format!("{topic}: {messages} messages, {} partitions, end offsets {}", ends.len(), ends.join(" "))
}

/// The committed offsets and the lag of a group on a topic; `None` if the group has committed none.
fn position(committed: &BTreeMap<i32, Option<i64>>, ranges: &Ranges) -> Option<String> {
    if committed.values().all(Option::is_none) {
        return None;
    }
    let next = |partition: &i32, first: i64| committed.get(partition).copied().flatten().unwrap_or(first);
    let lag: i64 = ranges.iter().map(|(partition, (first, end))| end - next(partition, *first)).sum();
    let offsets = committed.values().map(|offset| offset.map_or("-".to_owned(), |offset| offset.to_string()));
    Some(format!("committed {}, lag {lag}", offsets.collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests;
