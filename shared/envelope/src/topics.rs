//! The names of topics and consumer groups.

use crate::{MessageParked, Stream};

/// Topic names of one installation; the prefix lets several share a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    prefix: String,
}

impl Topics {
    /// The partitions of a new events topic; they limit a consumer's parallelism. An operator can add partitions while services run:
    /// the inbox holds a message that is read before an earlier one of its aggregate.
    pub const PARTITIONS: i32 = 6;

    /// Names with this prefix (may be empty).
    pub fn with_prefix(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into() }
    }

    /// The topic of a service's events.
    pub fn events(&self, stream: Stream) -> String {
        self.prefixed(&stream.topic())
    }

    /// A topic's name in this installation.
    pub fn prefixed(&self, topic: &str) -> String {
        format!("{}{topic}", self.prefix)
    }

    /// The topic for copies of the messages that a consumer parked.
    pub fn dead_letters(&self, consumer: &str) -> String {
        self.prefixed(&MessageParked::topic(consumer))
    }

    /// The consumer group of a consumer, separate for each prefix.
    pub fn group(&self, consumer: &str) -> String {
        self.prefixed(consumer)
    }
}
