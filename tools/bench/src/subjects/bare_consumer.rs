//! The bare consumer: librdkafka alone.

use envelope::Topics;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::{ClientConfig, Offset};

use crate::environment::Environment;
use harness::{Context, Result};

/// A consumer of all partitions, with the settings of messaging's subscription that decide how soon a record arrives. It
/// has no group, because groups are not on the path.
pub(crate) fn bare_consumer(environment: &Environment, topic: &str) -> Result<BaseConsumer> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", environment.brokers.bootstrap())
        .set("group.id", "none")
        .set("enable.auto.commit", "false")
        .set("isolation.level", "read_committed")
        .set("check.crcs", "true")
        .set("fetch.message.max.bytes", (256 * 1024).to_string())
        .set("queued.max.messages.kbytes", "1024")
        .set("fetch.queue.backoff.ms", "10")
        .create()
        .context("make the bare consumer")?;
    let mut partitions = TopicPartitionList::new();
    for partition in 0..Topics::PARTITIONS {
        partitions.add_partition_offset(topic, partition, Offset::Beginning).context("name a partition")?;
    }
    consumer.assign(&partitions).context("assign the partitions")?;
    Ok(consumer)
}
