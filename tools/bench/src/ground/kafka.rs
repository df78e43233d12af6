//! How many messages a topic holds.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::Ground;
use crate::trouble::{Doing, Trouble};
use contracts::Topics;

/// Looks at one topic from outside.
pub(crate) struct Watcher {
    client: BaseConsumer,
    topic: String,
}

impl Watcher {
    pub(crate) fn of(ground: &Ground, topic: &str) -> Result<Self, Trouble> {
        let client = ClientConfig::new()
            .set("bootstrap.servers", ground.brokers.bootstrap())
            .set("group.id", "bench") // demanded by the client; it never joins
            .create()
            .doing("look at a topic")?;
        Ok(Self { client, topic: topic.to_owned() })
    }

    /// Messages that are in it now.
    pub(crate) fn messages(&self) -> Result<usize, Trouble> {
        let mut messages = 0;
        for partition in 0..Topics::PARTITIONS {
            let patience = Duration::from_secs(10);
            let (first, end) =
                self.client.fetch_watermarks(&self.topic, partition, patience).doing("count a topic")?;
            messages += usize::try_from(end - first).unwrap_or_default();
        }
        Ok(messages)
    }
}
