//! Messages that are spent once: a batch is either done, by value, or it comes again.

use std::mem;

use super::commands::{Command, Commands, Generation, Place};
use super::context::Assignment;
use crate::Received;

/// Messages of one partition, in order, at least one. While it exists no other batch of its partition is out.
///
/// [`done`](Self::done) is said once its effects are committed. Dropping it, also by a panic or a cancelled
/// future, brings the same messages again after a short rest. If a rebalance takes the partition meanwhile, both
/// mean nothing: the next owner starts behind the last batch that was done, and the database decides what is a
/// repeat.
#[must_use = "a batch that is dropped undone is delivered again"]
pub struct Batch {
    place: Place,
    generation: Generation,
    messages: Vec<Received>,
    assignment: Assignment,
    commands: Commands,
}

impl Batch {
    pub(super) fn new(
        place: Place,
        messages: Vec<Received>,
        assignment: &Assignment,
        commands: &Commands,
    ) -> Self {
        let generation = assignment.generation();
        Self { place, generation, messages, assignment: assignment.clone(), commands: commands.clone() }
    }

    /// The topic of all its messages.
    pub fn topic(&self) -> &str {
        &self.place.topic
    }

    /// The partition of all its messages.
    pub fn partition(&self) -> i32 {
        self.place.partition
    }

    /// The messages, by rising offset.
    pub fn messages(&self) -> &[Received] {
        &self.messages
    }

    /// Everything in it has taken effect: reading goes on behind it, after a restart too.
    pub fn done(mut self) {
        let messages = mem::take(&mut self.messages);
        if let Some(last) = messages.last() {
            let (place, generation) = (self.place.clone(), self.generation);
            self.commands.send(Command::Done { place, generation, last: last.offset });
        }
    }

    /// Whether its partition still belongs to this member.
    pub(super) fn is_current(&self) -> bool {
        self.generation == self.assignment.generation()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.messages.is_empty() {
            return; // done
        }
        let (place, generation) = (self.place.clone(), self.generation);
        let messages = mem::take(&mut self.messages);
        self.commands.send(Command::Undone { place, generation, messages });
    }
}
