//! A record that the client cannot read. Its partition is paused: otherwise the client would repeat the fetch in a loop, and
//! could go on behind the record.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use super::batch::UnreadableRecord;
use super::callbacks::{Consumer, TopicPartition};
use super::committed::{OFFSET_TIMEOUT, committed};
use crate::admin::blocking;

/// The partition is paused until this is dropped, also when it is revoked: it may be assigned to this member later.
pub(super) struct Unreadable {
    consumer: Arc<Consumer>,
    partition: TopicPartition,
    error: KafkaError,
}

impl Unreadable {
    pub(super) fn pause(consumer: &Arc<Consumer>, partition: &TopicPartition, error: KafkaError) -> Self {
        let unreadable = Self { consumer: Arc::clone(consumer), partition: partition.clone(), error };
        if let Err(error) = consumer.pause(&unreadable.list()) {
            unreadable.problem("is not paused", &error);
        }
        unreadable
    }

    pub(super) fn record(&self, offset: i64) -> UnreadableRecord {
        UnreadableRecord { offset, error: self.error.to_string() }
    }

    /// Asks where the group starts: at the committed offset, or at the first record of the partition.
    pub(super) async fn start(&self) -> Option<i64> {
        if let Some(offset) = committed(&self.consumer, &self.partition).await? {
            return Some(offset);
        }
        let (consumer, TopicPartition { topic, number }) =
            (Arc::clone(&self.consumer), self.partition.clone());
        let asked = blocking(move || Ok(consumer.fetch_watermarks(&topic, number, OFFSET_TIMEOUT).ok()));
        asked.await.ok()?.map(|(first, _)| first)
    }

    /// Lets the client fetch from this offset once this is dropped. Returns whether it does.
    pub(super) fn continue_at(&self, offset: i64) -> bool {
        let TopicPartition { topic, number } = &self.partition;
        let sought = self.consumer.seek(topic, *number, Offset::Offset(offset), Duration::ZERO);
        sought.inspect_err(|error| self.problem("cannot be read again", error)).is_ok()
    }

    fn list(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.partition.topic, self.partition.number);
        list
    }

    fn problem(&self, what: &str, error: &KafkaError) {
        self.consumer.context().log.problem(&format!("{} {what}: {error}", self.partition));
    }
}

impl Drop for Unreadable {
    fn drop(&mut self) {
        let _ = self.consumer.resume(&self.list()); // fails only if the client does not know the partition
    }
}

/// Returns whether the error is about the next record. The client would skip such a record, or fetch it for ever.
pub(crate) fn is_about_a_record(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{BadCompression, BadMessage, InvalidMessage, MessageSizeTooLarge, NotImplemented};
    matches!(
        error,
        KafkaError::MessageConsumption(
            BadMessage | BadCompression | InvalidMessage | MessageSizeTooLarge | NotImplemented
        )
    )
}
