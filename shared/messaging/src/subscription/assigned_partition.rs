//! A partition that is assigned to this member: its queue of fetched messages, and the batch that is delivered again.

use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer as _;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use super::SubscriptionSettings;
use super::batch::UnreadableRecord;
use super::callbacks::{Consumer, ConsumerCallbacks};
use super::commands::TopicPartition;
use crate::ReceivedMessage;

/// The longest time that a question for an offset may hold up the consumer thread. It is asked only if a record cannot be
/// read.
const OFFSET_TIMEOUT: Duration = Duration::from_secs(1);

/// The messages that the client has fetched of a partition. The client fetches more once they are read.
pub(super) type FetchQueue = PartitionQueue<ConsumerCallbacks>;

pub(super) struct AssignedPartition {
    pub(super) id: TopicPartition,
    queue: FetchQueue,
    returned: Option<ReturnedBatch>,
    /// The offset of the next record, once a message was read.
    position: Option<i64>,
    /// The error of the next record. The client fetches nothing of this partition meanwhile: otherwise it would repeat the
    /// fetch in a loop, and could go on behind the record.
    unreadable: Option<KafkaError>,
}

struct ReturnedBatch {
    messages: Vec<ReceivedMessage>,
    retry_at: Instant,
}

/// The next content of a partition for its worker.
pub(super) enum Fetched {
    Nothing,
    Messages(Vec<ReceivedMessage>),
    Unreadable(UnreadableRecord),
    Fatal(KafkaError),
}

impl AssignedPartition {
    pub(super) fn new(id: TopicPartition, queue: FetchQueue) -> Self {
        Self { id, queue, returned: None, position: None, unreadable: None }
    }

    /// Keeps the messages of a returned batch, and delivers them again after `delay`. They are kept in memory, so this
    /// works while no broker can be reached. A record that cannot be read is fetched again.
    pub(super) fn keep_returned(&mut self, messages: Vec<ReceivedMessage>, delay: Duration) {
        self.returned = Some(ReturnedBatch { messages, retry_at: Instant::now() + delay });
    }

    /// Continues behind a record that cannot be read.
    pub(super) fn continue_at(&mut self, next: i64) {
        if self.unreadable.is_some() {
            self.position = Some(next);
            self.keep_returned(Vec::new(), Duration::ZERO);
        }
    }

    /// Lets the client fetch again, in case that the partition is assigned to this member later.
    pub(super) fn release(self, consumer: &Consumer) {
        if self.unreadable.is_some() {
            let _ = consumer.resume(&self.list()); // fails only if the client does not know the partition
        }
    }

    /// Returns the next messages in order, or the record that cannot be read. Returns neither while a returned batch waits
    /// for its retry.
    pub(super) fn fetch(&mut self, consumer: &Consumer, limits: &SubscriptionSettings) -> Fetched {
        if self.retry_delay().is_some_and(|delay| !delay.is_zero()) {
            return Fetched::Nothing;
        }
        match self.returned.take() {
            Some(returned) if !returned.messages.is_empty() => Fetched::Messages(returned.messages),
            Some(_) => self.read_again(consumer),
            None if self.unreadable.is_some() => self.unreadable_record(consumer),
            None => self.read(consumer, limits),
        }
    }

    /// Returns the time until the returned batch is delivered again, if there is one.
    pub(super) fn retry_delay(&self) -> Option<Duration> {
        self.returned.as_ref().map(|returned| returned.retry_at.saturating_duration_since(Instant::now()))
    }

    fn read(&mut self, consumer: &Consumer, limits: &SubscriptionSettings) -> Fetched {
        let mut messages = Vec::new();
        let mut bytes = 0;
        while messages.len() < limits.max_batch && bytes < limits.max_batch_bytes {
            match self.queue.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let message = ReceivedMessage::copy_of(&message, &self.id.topic);
                    bytes += message.size();
                    self.position = Some(message.offset + 1);
                    messages.push(message);
                }
                Some(Err(error)) if is_about_a_record(&error) => {
                    self.unreadable = Some(error);
                    if let Err(error) = consumer.pause(&self.list()) {
                        consumer.context().log.problem(&format!("{} is not paused: {error}", self.id));
                    }
                    break;
                }
                Some(Err(error @ KafkaError::MessageConsumptionFatal(_))) => return Fetched::Fatal(error),
                Some(Err(_)) | None => break, // the client recovers by itself
            }
        }
        match (messages.is_empty(), self.unreadable.is_some()) {
            (false, _) => Fetched::Messages(messages), // they are applied before the record is looked at
            (true, true) => self.unreadable_record(consumer),
            (true, false) => Fetched::Nothing,
        }
    }

    /// Names the record that cannot be read. Before the first message, Kafka knows its offset.
    fn unreadable_record(&mut self, consumer: &Consumer) -> Fetched {
        self.position = self.position.or_else(|| self.start(consumer));
        match (self.position, &self.unreadable) {
            (Some(offset), Some(error)) => {
                Fetched::Unreadable(UnreadableRecord { offset, error: error.to_string() })
            }
            _ => Fetched::Nothing, // asked again in the next round
        }
    }

    /// Asks where the group starts: at the committed offset, or at the first record of the partition.
    fn start(&self, consumer: &Consumer) -> Option<i64> {
        let committed = consumer.committed_offsets(self.list(), OFFSET_TIMEOUT).ok()?;
        let committed = committed.find_partition(&self.id.topic, self.id.partition)?.offset();
        let Offset::Offset(offset) = committed else {
            return Some(
                consumer.fetch_watermarks(&self.id.topic, self.id.partition, OFFSET_TIMEOUT).ok()?.0,
            );
        };
        Some(offset)
    }

    /// Lets the client fetch from the position. Another replica, or a repaired disk, may deliver the record.
    fn read_again(&mut self, consumer: &Consumer) -> Fetched {
        let TopicPartition { topic, partition } = &self.id;
        let Some(position) = self.position else { return Fetched::Nothing };
        let sought = consumer.seek(topic, *partition, Offset::Offset(position), Duration::ZERO);
        match sought.and_then(|()| consumer.resume(&self.list())) {
            Ok(()) => self.unreadable = None,
            Err(error) => {
                consumer.context().log.problem(&format!("{} cannot be read again: {error}", self.id));
            }
        }
        Fetched::Nothing
    }

    fn list(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.id.topic, self.id.partition);
        list
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
