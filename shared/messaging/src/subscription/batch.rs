//! A batch of messages: its worker either declares it done, or it is delivered again.

use std::mem;

use super::callbacks::GenerationCounter;
use super::commands::{CommandSender, Generation, ThreadCommand, TopicPartition};
use crate::ReceivedMessage;

/// Messages of one partition, in order, at least one. Its partition has no other batch in progress.
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
    current_generation: GenerationCounter,
    commands: CommandSender,
}

impl Batch {
    pub(super) fn new(
        partition: TopicPartition,
        messages: Vec<ReceivedMessage>,
        current_generation: &GenerationCounter,
        commands: &CommandSender,
    ) -> Self {
        let generation = current_generation.get();
        let (current_generation, commands) = (current_generation.clone(), commands.clone());
        Self { partition, generation, messages, current_generation, commands }
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

    /// Declares that all messages have taken effect. The group continues after them, also after a restart.
    pub fn done(mut self) {
        let messages = mem::take(&mut self.messages);
        if let Some(last) = messages.last() {
            let (partition, generation) = (self.partition.clone(), self.generation);
            self.commands.send(ThreadCommand::BatchDone { partition, generation, last: last.offset });
        }
    }

    /// Returns whether the assignment in which the batch was read is still in force.
    pub(super) fn is_current(&self) -> bool {
        self.generation == self.current_generation.get()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.messages.is_empty() {
            return; // `done` took the messages
        }
        let (partition, generation) = (self.partition.clone(), self.generation);
        let messages = mem::take(&mut self.messages);
        self.commands.send(ThreadCommand::BatchReturned { partition, generation, messages });
    }
}
