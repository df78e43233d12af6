//! The offset at which the group goes on in a partition.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::{Offset, TopicPartitionList};

use super::callbacks::{Consumer, TopicPartition};
use crate::admin::blocking;

/// The longest time that a question for an offset may take.
pub(super) const OFFSET_TIMEOUT: Duration = Duration::from_secs(1);

/// Asks for the offset that the group has committed: `Some(None)` if there is none, `None` if the brokers do not answer.
pub(super) async fn committed(consumer: &Arc<Consumer>, partition: &TopicPartition) -> Option<Option<i64>> {
    let (consumer, TopicPartition { topic, number }) = (Arc::clone(consumer), partition.clone());
    let asked = blocking(move || {
        let mut list = TopicPartitionList::new();
        list.add_partition(&topic, number);
        let committed = consumer.committed_offsets(list, OFFSET_TIMEOUT).ok();
        Ok(committed.and_then(|list| match list.find_partition(&topic, number)?.offset() {
            Offset::Offset(offset) => Some(Some(offset)),
            _ => Some(None),
        }))
    });
    asked.await.ok()?
}
