//! Errors of this crate. A caller waits, changes a setting, or stops a consumer; each variant says which.

use std::time::Duration;

use rdkafka::error::KafkaError;

/// An operation on Kafka failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client cannot be created, because an address or a property is wrong. Retrying does not help.
    #[error(
        "the Kafka client cannot be created: {reason}; check the brokers' addresses and the client's properties"
    )]
    Configuration {
        /// The client's reason.
        reason: String,
    },
    /// No broker answered in time. Retrying may help.
    #[error(
        "no Kafka broker at {brokers} answered within {timeout:?}: {reason}; is it running, and is this its address?"
    )]
    Unreachable {
        /// The bootstrap addresses.
        brokers: String,
        /// The time limit.
        timeout: Duration,
        /// The client's reason.
        reason: String,
    },
    /// The topic does not exist.
    #[error(
        "the topic {topic} does not exist; start the service that owns it, or create it with `topics::ensure`"
    )]
    UnknownTopic {
        /// Its name.
        topic: String,
    },
    /// The topic exists with fewer partitions.
    #[error(
        "the topic {topic} has {found} partitions, but at least {expected} are configured; add partitions with \
         Kafka's kafka-topics.sh, or set the number to {found}"
    )]
    PartitionCount {
        /// Its name.
        topic: String,
        /// The configured number.
        expected: i32,
        /// The actual number.
        found: usize,
    },
    /// The group has members, so its offsets cannot be changed.
    #[error(
        "the consumer group {group} still has members; stop its consumers (they leave within seconds) and try again"
    )]
    GroupActive {
        /// Its name.
        group: String,
    },
    /// The broker, or the client on its behalf, refused.
    #[error("cannot {action}: {reason}")]
    Refused {
        /// The attempted action.
        action: String,
        /// The client's reason.
        reason: String,
    },
    /// The operating system did not start the client's thread.
    #[error("cannot start a thread for the Kafka client: {0}; has the process reached its limit of threads?")]
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

/// The publisher did not accept a record. It sends nothing, and there is no [`DeliveryReport`](crate::DeliveryReport).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The limit of outstanding records is reached. Read delivery reports, then publish the same record again.
    #[error("the publisher's queue is full; read delivery reports before publishing more")]
    Full,
    /// The producer can no longer keep the order of records. Drop this publisher and connect another.
    #[error("the Kafka producer has a fatal error ({reason}); drop the publisher and connect a new one")]
    Fatal {
        /// The client's reason.
        reason: String,
    },
    /// The client refused the record.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The client or the brokers refused a record. Publishing it again fails in the same way until somebody removes the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// The reason.
    pub reason: String,
    /// The topic, if it cannot be used now, for instance because the brokers do not know it yet. The client remembers a missing
    /// topic for minutes.
    pub unusable_topic: Option<String>,
}
