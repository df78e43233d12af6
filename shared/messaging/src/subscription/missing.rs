//! Records that are missing from a partition before the group has read them: retention or compaction removed them. The client goes on
//! behind them without an error.

use rdkafka::consumer::Consumer as _;
use rdkafka::{Offset, TopicPartitionList};

use super::callbacks::TopicPartition;
use super::partition_reader::PartitionReader;
use super::unreadable::OFFSET_TIMEOUT;
use crate::admin::blocking;

impl PartitionReader {
    /// Logs and counts the offsets between `position` and the first record of a batch. The services' topics have no others without a
    /// record. Without a position, as after an assignment, the group's committed offset counts, if there is one.
    pub(super) async fn report_missing(&self, position: Option<i64>, first: i64) {
        let position = match position {
            None => self.committed().await,
            known => known,
        };
        let Some(position) = position.filter(|position| *position < first) else { return };
        let (group, partition, last) = (self.settings.group.as_str(), &self.partition, first - 1);
        tracing::error!(
            target: "kafka", group, %partition, first = position, last,
            "RecordsMissing: Kafka removed records before the consumer read them; their senders publish them again: `outbox republish --since`",
        );
        (self.settings.count_missing)((first - position).unsigned_abs());
    }

    /// The offset that the group has committed; `None` if there is none, or if the brokers do not answer.
    async fn committed(&self) -> Option<i64> {
        let (consumer, partition) = (self.consumer.clone(), self.partition.clone());
        let asked = blocking(move || {
            let TopicPartition { topic, number } = &partition;
            let mut list = TopicPartitionList::new();
            list.add_partition(topic, *number);
            let committed = consumer.committed_offsets(list, OFFSET_TIMEOUT).ok();
            Ok(committed.and_then(|list| match list.find_partition(topic, *number)?.offset() {
                Offset::Offset(offset) => Some(offset),
                _ => None,
            }))
        });
        asked.await.ok()?
    }
}
