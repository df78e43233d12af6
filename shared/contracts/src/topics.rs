//! The names of the topics, in one place.

use crate::{MessageParked, Stream};

/// Topic names of one installation; the prefix lets several share a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    prefix: String,
}

impl Topics {
    /// Partitions of an events topic: the bound of a consumer's parallelism. Never change it while keys are live.
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

    /// Copies of what a consumer could not apply.
    pub fn dead_letters(&self, consumer: &str) -> String {
        self.prefixed(&MessageParked::topic(consumer))
    }

    /// The consumer group of a consumer, separate for each prefix.
    pub fn group(&self, consumer: &str) -> String {
        self.prefixed(consumer)
    }
}
