//! A batch of messages: its worker either declares it done, or it is delivered again.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::callbacks::TopicPartition;
use crate::ReceivedMessage;

/// Messages of one partition, in order, or one record that cannot be read. Its partition has no other batch in progress.
///
/// Call [`done`](Self::done) once its effects are committed. If the batch is dropped instead, also by a panic or a
/// cancelled future, the same messages are delivered again after a short delay.
///
/// If a rebalance revokes the partition meanwhile, neither has an effect. The next owner starts after the last batch that
/// was done, and the database decides which messages are duplicates.
#[must_use = "a batch that is dropped without `done` is delivered again"]
pub struct Batch {
    partition: TopicPartition,
    content: Content,
    /// Tells the reader of the partition the offset to continue at. The reader ends when its partition is revoked.
    reader: oneshot::Sender<i64>,
}

/// The reader keeps the messages, too, so that it can deliver them again while no broker can be reached.
pub(super) type Content = Result<Arc<[ReceivedMessage]>, UnreadableRecord>;

/// A record that the client library cannot read, such as one with a wrong checksum. Its partition waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRecord {
    /// The offset where the reading stopped. All messages before it were delivered.
    pub offset: i64,
    /// The client's error.
    pub error: String,
}

impl Batch {
    /// Returns a batch, and the offset to continue at once it is done. Waiting for that offset fails if the batch is dropped.
    pub(super) fn new(partition: TopicPartition, content: Content) -> (Self, oneshot::Receiver<i64>) {
        let (reader, next) = oneshot::channel();
        (Self { partition, content, reader }, next)
    }

    /// Returns the topic of its messages.
    pub fn topic(&self) -> &str {
        &self.partition.topic
    }

    /// Returns the partition of its messages.
    pub fn partition(&self) -> i32 {
        self.partition.number
    }

    /// Returns the messages, ordered by offset.
    pub fn messages(&self) -> &[ReceivedMessage] {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns the record that cannot be read, if this batch has no messages. If the batch is dropped, the record is read
    /// again.
    pub fn unreadable(&self) -> Option<&UnreadableRecord> {
        self.content.as_ref().err()
    }

    /// Declares that all messages have taken effect. The group continues after them, also after a restart.
    pub fn done(self) {
        if let Some(last) = self.messages().last() {
            let next = last.offset + 1;
            self.continue_at(next);
        }
    }

    /// Lets the group continue at this offset. Records before it are never delivered again.
    pub fn continue_at(self, next: i64) {
        let _ = self.reader.send(next); // fails only if the partition was revoked
    }

    /// Returns whether its partition is still assigned as when the batch was read.
    pub fn is_current(&self) -> bool {
        !self.reader.is_closed()
    }
}
