//! `PartitionLags`: how far this member is behind in each of its partitions, from the client's statistics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::Statistics;
use rdkafka::statistics::Partition;

/// The lag of each partition that is assigned to this member. The client reports it every second; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct PartitionLags(Arc<Mutex<BTreeMap<(String, i32), i64>>>);

impl PartitionLags {
    /// Replaces all lags.
    pub(super) fn replace(&self, statistics: &Statistics) {
        let partitions = statistics.topics.values().flat_map(|topic| {
            topic
                .partitions
                .values()
                .filter_map(|partition| Some(((topic.topic.clone(), partition.partition), lag(partition)?)))
        });
        let lags = partitions.collect();
        // A poisoned lock is safe to use: the update is a single assignment.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lags;
    }

    /// Returns topic, partition and lag of each partition.
    pub fn current(&self) -> Vec<(String, i32, i64)> {
        let lags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lags.iter().map(|((topic, partition), lag)| (topic.clone(), *partition, *lag)).collect()
    }
}

/// The messages behind the stored offset. Before the first one is stored, those behind the position of the reading. Offsets that the
/// client does not know are negative; of a partition that it does not read it knows none.
fn lag(partition: &Partition) -> Option<i64> {
    let end = if partition.ls_offset >= 0 { partition.ls_offset } else { partition.hi_offset };
    let stored = partition.stored_offset.max(partition.committed_offset);
    let read = partition.next_offset - partition.fetchq_cnt;
    let position = if stored >= 0 { stored } else { read };
    (partition.fetch_state == "active" && end >= 0 && position >= 0).then(|| (end - position).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_counts_from_the_stored_offset_or_from_the_position_of_the_reading() {
        let unknown = Partition {
            fetch_state: "active".to_owned(),
            stored_offset: -1001,
            committed_offset: -1001,
            next_offset: 12,
            fetchq_cnt: 2,
            hi_offset: 15,
            ls_offset: 15,
            ..Partition::default()
        };
        assert_eq!(lag(&unknown), Some(5));
        let stored = Partition { stored_offset: 11, ..unknown.clone() };
        assert_eq!(lag(&stored), Some(4));
        assert_eq!(lag(&Partition { committed_offset: 14, ..stored.clone() }), Some(1));
        assert_eq!(lag(&Partition { hi_offset: -1001, ls_offset: -1001, ..stored.clone() }), None);
        assert_eq!(lag(&Partition { fetch_state: "none".to_owned(), ..stored }), None);
    }
}
