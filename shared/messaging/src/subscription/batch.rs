//! A batch of messages: its worker either declares it done, or it is delivered again.

use std::mem;

use super::callbacks::Generations;
use super::commands::{CommandSender, Generation, ThreadCommand, TopicPartition};
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
    generation: Generation,
    messages: Vec<ReceivedMessage>,
    unreadable: Option<UnreadableRecord>,
    generations: Generations,
    commands: CommandSender,
}

/// A record that the client library cannot read, such as one with a wrong checksum. Its partition waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRecord {
    /// The offset where the reading stopped. All messages before it were delivered.
    pub offset: i64,
    /// The client's error.
    pub error: String,
}

impl Batch {
    pub(super) fn new(
        partition: TopicPartition,
        content: Result<Vec<ReceivedMessage>, UnreadableRecord>,
        generations: &Generations,
        commands: &CommandSender,
    ) -> Self {
        let generation = generations.get(&partition);
        let (generations, commands) = (generations.clone(), commands.clone());
        let (messages, unreadable) = match content {
            Ok(messages) => (messages, None),
            Err(record) => (Vec::new(), Some(record)),
        };
        Self { partition, generation, messages, unreadable, generations, commands }
    }

    /// Returns the topic of its messages.
    pub fn topic(&self) -> &str {
        &self.partition.topic
    }

    /// Returns the partition of its messages.
    pub fn partition(&self) -> i32 {
        self.partition.partition
    }

    /// Returns the messages, ordered by offset.
    pub fn messages(&self) -> &[ReceivedMessage] {
        &self.messages
    }

    /// Returns the record that cannot be read, if this batch has no messages. If the batch is dropped, the record is read
    /// again.
    pub fn unreadable(&self) -> Option<&UnreadableRecord> {
        self.unreadable.as_ref()
    }

    /// Declares that all messages have taken effect. The group continues after them, also after a restart.
    pub fn done(self) {
        if let Some(last) = self.messages.last() {
            let next = last.offset + 1;
            self.continue_at(next);
        }
    }

    /// Lets the group continue at this offset. Records before it are never delivered again.
    pub fn continue_at(mut self, next: i64) {
        (self.messages, self.unreadable) = (Vec::new(), None);
        let (partition, generation) = (self.partition.clone(), self.generation);
        self.commands.send(ThreadCommand::BatchDone { partition, generation, next });
    }

    /// Returns whether its partition is still assigned as when the batch was read.
    pub fn is_current(&self) -> bool {
        self.generation == self.generations.get(&self.partition)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.messages.is_empty() && self.unreadable.is_none() {
            return; // it is done
        }
        let (partition, generation) = (self.partition.clone(), self.generation);
        let messages = mem::take(&mut self.messages);
        self.commands.send(ThreadCommand::BatchReturned { partition, generation, messages });
    }
}
