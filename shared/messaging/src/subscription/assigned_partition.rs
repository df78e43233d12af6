//! A partition that is assigned to this member: its queue of fetched messages, and a returned batch if there is one.

use std::time::{Duration, Instant};

use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;

use super::SubscriptionSettings;
use super::callbacks::ConsumerCallbacks;
use super::commands::TopicPartition;
use crate::ReceivedMessage;

/// The messages that the client has fetched of a partition. The client fetches more once they are read.
pub(super) type FetchQueue = PartitionQueue<ConsumerCallbacks>;

pub(super) struct AssignedPartition {
    pub(super) id: TopicPartition,
    queue: FetchQueue,
    returned: Option<ReturnedBatch>,
}

struct ReturnedBatch {
    messages: Vec<ReceivedMessage>,
    retry_at: Instant,
}

impl AssignedPartition {
    pub(super) fn new(id: TopicPartition, queue: FetchQueue) -> Self {
        Self { id, queue, returned: None }
    }

    /// Keeps the messages of a returned batch, and delivers them again after `delay`. They are kept in memory, so this
    /// works while no broker can be reached.
    pub(super) fn keep_returned(&mut self, messages: Vec<ReceivedMessage>, delay: Duration) {
        self.returned = Some(ReturnedBatch { messages, retry_at: Instant::now() + delay });
    }

    /// Returns the next messages in order, and the error that stopped the reading if there was one. Returns no messages
    /// while a returned batch waits for its retry.
    pub(super) fn next_messages(
        &mut self,
        limits: &SubscriptionSettings,
    ) -> (Vec<ReceivedMessage>, Option<KafkaError>) {
        if self.retry_delay().is_some_and(|delay| !delay.is_zero()) {
            return (Vec::new(), None);
        }
        match self.returned.take() {
            Some(returned) => (returned.messages, None),
            None => self.read(limits),
        }
    }

    /// Returns the time until the returned batch is delivered again, if there is one.
    pub(super) fn retry_delay(&self) -> Option<Duration> {
        self.returned.as_ref().map(|returned| returned.retry_at.saturating_duration_since(Instant::now()))
    }

    fn read(&self, limits: &SubscriptionSettings) -> (Vec<ReceivedMessage>, Option<KafkaError>) {
        let mut messages = Vec::new();
        let mut bytes = 0;
        while messages.len() < limits.max_batch && bytes < limits.max_batch_bytes {
            match self.queue.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let message = ReceivedMessage::copy_of(&message, &self.id.topic);
                    bytes += message.size();
                    messages.push(message);
                }
                Some(Err(error)) => return (messages, Some(error)),
                None => break,
            }
        }
        (messages, None)
    }
}
