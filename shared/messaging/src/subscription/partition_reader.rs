//! Reads one partition for as long as it is assigned to this member.
//!
//! A batch ends before the next one is handed out. The client fetches ahead meanwhile, up to its limit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use rdkafka::consumer::Consumer as _;
use rdkafka::consumer::stream_consumer::StreamPartitionQueue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::SubscriptionSettings;
use super::batch::{Batch, Content};
use super::callbacks::{Consumer, ConsumerCallbacks, TopicPartition};
use super::unreadable::{Unreadable, is_about_a_record};
use crate::ReceivedMessage;

/// A queue wakes its reader once when its first message arrives. The library can lose this wake-up (pull request 840 of rust-rdkafka), so
/// the reader looks again after this time.
const LOOK: Duration = Duration::from_secs(5);

/// The messages that the client has fetched of a partition. The client fetches more once they are read.
pub(super) type FetchQueue = StreamPartitionQueue<ConsumerCallbacks>;

pub(super) struct PartitionReader {
    pub(super) partition: TopicPartition,
    pub(super) queue: FetchQueue,
    pub(super) consumer: Arc<Consumer>,
    pub(super) batches: mpsc::Sender<Batch>,
    pub(super) settings: Arc<SubscriptionSettings>,
}

impl PartitionReader {
    /// Reads until `stop` is cancelled. If the batch in progress is done by then, its offset is stored. Returns the partition.
    pub(super) async fn run(self, stop: CancellationToken) -> TopicPartition {
        stop.run_until_cancelled(self.read()).await;
        self.partition
    }

    async fn read(&self) {
        let mut position = None; // the offset of the next record, once it is known
        loop {
            let (messages, unreadable) = self.fetch().await;
            if let Some(first) = messages.first() {
                self.report_missing(position, first.offset).await;
                position = Some(self.deliver_until_done(messages.into()).await);
            }
            if let Some(unreadable) = unreadable {
                position = Some(self.deliver_unreadable(unreadable, position).await);
            }
        }
    }

    /// Waits for a message, and takes what else has arrived, up to the limits of a batch or a record that cannot be read. Messages that
    /// may wait take those along that arrive meanwhile.
    async fn fetch(&self) -> (Vec<ReceivedMessage>, Option<Unreadable>) {
        let (mut messages, mut bytes, mut may_wait) = (Vec::new(), 0, true);
        let mut queue = self.queue.stream();
        let mut next = loop {
            self.settings.wait_for_progress().await; // a look counts as a poll of the whole client, and keeps it in the group
            if let Ok(fetched) = timeout(LOOK, queue.next()).await {
                break fetched;
            }
        };
        let wait_until = Instant::now() + self.settings.longest_wait;
        while let Some(fetched) = next {
            match fetched {
                Ok(message) => {
                    let message = ReceivedMessage::copy_of(&message, &self.partition.topic);
                    bytes += message.size();
                    may_wait = may_wait && (self.settings.may_wait)(&message);
                    messages.push(message);
                }
                Err(error) if is_about_a_record(&error) => {
                    return (messages, Some(Unreadable::pause(&self.consumer, &self.partition, error)));
                }
                Err(_) => {} // the client recovers by itself
            }
            if messages.len() >= self.settings.max_batch || bytes >= self.settings.max_batch_bytes {
                break;
            }
            next = if may_wait {
                timeout_at(wait_until, queue.next()).await.ok().flatten()
            } else {
                queue.next().now_or_never().flatten()
            };
        }
        (messages, None)
    }

    /// Delivers the messages until they are done. Returns the offset behind them.
    async fn deliver_until_done(&self, messages: Arc<[ReceivedMessage]>) -> i64 {
        loop {
            if let Some(next) = self.deliver(Ok(Arc::clone(&messages))).await {
                return next;
            }
        }
    }

    /// Delivers a record that cannot be read. Goes on behind it, or, if the batch is dropped, reads it again: another replica,
    /// or a repaired disk, may deliver it. Returns the offset of the next record.
    async fn deliver_unreadable(&self, unreadable: Unreadable, position: Option<i64>) -> i64 {
        let mut position = position;
        loop {
            if position.is_none() {
                position = unreadable.start().await;
            }
            let Some(offset) = position else {
                sleep(self.settings.redelivery_delay).await;
                continue;
            };
            let next = self.deliver(Err(unreadable.record(offset))).await.unwrap_or(offset);
            if unreadable.continue_at(next) {
                return next;
            }
            position = Some(next);
        }
    }

    /// Hands out a batch. Returns the offset to continue at. If the batch is dropped, returns `None` after a delay.
    async fn deliver(&self, content: Content) -> Option<i64> {
        let (batch, done) = Batch::new(self.partition.clone(), content);
        let _ = self.batches.send(batch).await; // fails only if the subscription is dropped
        let Ok(next) = done.await else {
            sleep(self.settings.redelivery_delay).await;
            return None;
        };
        let TopicPartition { topic, number } = &self.partition;
        // The client commits it at the next interval and before the partition is revoked. It adds one to what it is given.
        if let Err(error) = self.consumer.store_offset(topic, *number, next - 1) {
            self.consumer
                .context()
                .log
                .problem(&format!("the offset of {} is not stored: {error}", self.partition));
        }
        Some(next)
    }
}
