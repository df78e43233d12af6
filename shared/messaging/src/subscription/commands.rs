//! What the consumer's thread is told, and how it is woken.

use std::fmt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::partition::Fetched;
use crate::Received;

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// Numbers the assignments of this member: a rebalance ends one, and with it every batch that is out.
pub(super) type Generation = u64;

pub(super) enum Command {
    /// The group gave this member a partition.
    Assigned(Place, Fetched),
    /// The group took all partitions back.
    Revoked,
    /// The batch that ended with this offset has taken effect.
    Done { place: Place, generation: Generation, last: i64 },
    /// The batch was dropped undone.
    Undone { place: Place, generation: Generation, messages: Vec<Received> },
    /// Commit and leave the group.
    Leave,
}

/// The way to the consumer's thread: sending never blocks, and the thread wakes to read.
#[derive(Clone)]
pub(super) struct Commands {
    sender: Sender<Command>,
    thread: Arc<OnceLock<Thread>>,
}

impl Commands {
    pub(super) fn new(sender: Sender<Command>) -> Self {
        Self { sender, thread: Arc::default() }
    }

    /// Called on the consumer's thread, before it reads for the first time.
    pub(super) fn read_here(&self) {
        self.thread.get_or_init(thread::current);
    }

    /// A thread that has ended needs no commands.
    pub(super) fn send(&self, command: Command) {
        let _ = self.sender.send(command);
        self.wake();
    }

    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
