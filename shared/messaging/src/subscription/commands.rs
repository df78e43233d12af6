//! The commands to the consumer thread. Batches, callbacks and the `Subscription` send them.

use std::fmt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::assigned_partition::FetchQueue;
use crate::ReceivedMessage;

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TopicPartition {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// How often a partition was revoked from this member. A revocation ends every batch that was read before it.
pub(super) type Generation = u64;

pub(super) enum ThreadCommand {
    /// The group assigned a partition to this member.
    Assigned(TopicPartition, FetchQueue),
    /// The group revoked these partitions.
    Revoked(Vec<TopicPartition>),
    /// The records before offset `next` are done.
    BatchDone { partition: TopicPartition, generation: Generation, next: i64 },
    /// The batch was dropped before it was done. Without messages, it was about a record that cannot be read.
    BatchReturned { partition: TopicPartition, generation: Generation, messages: Vec<ReceivedMessage> },
    /// The client knows no committed offsets for some of its partitions, and does not ask again.
    OffsetsUnknown,
    /// The client hangs outside its group.
    Lost,
    /// Commit the offsets and leave the group.
    Leave,
}

/// Sends commands to the consumer thread and wakes it. Never blocks.
#[derive(Clone)]
pub(super) struct CommandSender {
    sender: Sender<ThreadCommand>,
    thread: Arc<OnceLock<Thread>>,
}

impl CommandSender {
    pub(super) fn new(sender: Sender<ThreadCommand>) -> Self {
        Self { sender, thread: Arc::default() }
    }

    /// Makes the current thread the one to wake. The consumer thread calls it before it reads its first command.
    pub(super) fn wake_current_thread(&self) {
        self.thread.get_or_init(thread::current);
    }

    pub(super) fn send(&self, command: ThreadCommand) {
        let _ = self.sender.send(command); // fails only if the thread has ended; then the command is not needed
        self.wake();
    }

    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
