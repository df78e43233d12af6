//! Records that are missing from a partition before the group has read them: retention or compaction removed them. The client goes on
//! behind them without an error.

use super::committed::committed;
use super::partition_reader::PartitionReader;

impl PartitionReader {
    /// Logs and counts the offsets between `position` and the first record of a batch. The services' topics have no others without a
    /// record. Without a position, as after an assignment, the group's committed offset counts, if there is one.
    pub(super) async fn report_missing(&self, position: Option<i64>, first: i64) {
        let position = match position {
            None => committed(&self.consumer, &self.partition).await.flatten(),
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
}
