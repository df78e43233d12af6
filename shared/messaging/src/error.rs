//! One error type, because every caller does one of three things: wait, change a setting, or stop a consumer.

use std::time::Duration;

use rdkafka::error::KafkaError;

/// Why an operation on Kafka failed, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client could not be made: an address or a client setting is wrong. Waiting does not help.
    #[error(
        "the Kafka client cannot be made: {reason}; check the brokers' addresses and the extra client settings"
    )]
    Configuration {
        /// What is wrong, in the client's words.
        reason: String,
    },
    /// Nobody answered in time. Waiting may help.
    #[error(
        "no Kafka broker at {brokers} answered within {timeout:?}: {reason}; is it running, and is this its address?"
    )]
    Unreachable {
        /// The bootstrap addresses that were tried.
        brokers: String,
        /// How long was waited.
        timeout: Duration,
        /// The client's last word.
        reason: String,
    },
    /// The topic is not there.
    #[error(
        "the topic {topic} does not exist; start the service that owns it, or create it with `topics::ensure`"
    )]
    UnknownTopic {
        /// Its name.
        topic: String,
    },
    /// The topic is there with another number of partitions, so keys would not meet where they should.
    #[error(
        "the topic {topic} has {found} partitions, but {expected} are configured; set the number to {found}, \
         or stop all services, delete the topic and let it be created again (its messages are lost)"
    )]
    PartitionCount {
        /// Its name.
        topic: String,
        /// The number that was asked for.
        expected: i32,
        /// The number it has.
        found: usize,
    },
    /// The group's offsets cannot be changed under its members' feet.
    #[error(
        "the consumer group {group} still has members; stop its consumers (they leave within seconds) and try again"
    )]
    GroupActive {
        /// Its name.
        group: String,
    },
    /// Not everything was acknowledged in time; nothing is lost, the rest is still being sent.
    #[error("{in_flight} published records have no result after {timeout:?}; the brokers are slow or away")]
    Unflushed {
        /// Records without a result.
        in_flight: usize,
        /// How long was waited.
        timeout: Duration,
    },
    /// The broker, or the client on its behalf, refused.
    #[error("cannot {action}: {reason}")]
    Refused {
        /// What was attempted.
        action: String,
        /// Why it failed, in the client's words.
        reason: String,
    },
    /// The operating system gave no thread for the client.
    #[error("cannot start a thread for the Kafka client: {0}; is the process at its limit of threads?")]
    Thread(#[source] std::io::Error),
}

impl Error {
    pub(crate) fn configuration(error: &KafkaError) -> Self {
        Self::Configuration { reason: error.to_string() }
    }

    pub(crate) fn refused(action: impl Into<String>, reason: &impl ToString) -> Self {
        Self::Refused { action: action.into(), reason: reason.to_string() }
    }
}

/// Why a record was not taken. Nothing was sent, and no [`Ack`](crate::Ack) will come for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// As much is outstanding as the settings allow. Take acknowledgements, then try the same record again.
    #[error("the publisher's queue is full; take acknowledgements before publishing more")]
    Full,
    /// Larger than the client sends. It will never fit: no use in trying again.
    #[error("a record of {bytes} bytes for {topic} is larger than `message.max.bytes`")]
    TooLarge {
        /// The topic it was meant for.
        topic: String,
        /// Key and payload together.
        bytes: usize,
    },
    /// The client cannot keep its promise of order any more. Drop this publisher and connect another.
    #[error("the Kafka producer is broken for good ({reason}); drop it and connect a new one")]
    Fatal {
        /// The client's words.
        reason: String,
    },
    /// The client refused the record for another reason, for instance an impossible topic name.
    #[error("the record for {topic} was refused: {reason}")]
    Refused {
        /// The topic it was meant for.
        topic: String,
        /// The client's words.
        reason: String,
    },
}
