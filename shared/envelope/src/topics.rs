//! The names of topics and consumer groups.

use crate::{MessageParked, Stream};

/// Topic and group names of one deployment. They begin with its name, so that several deployments share a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    deployment: String,
}

impl Topics {
    /// The partitions of a new events topic; they limit a consumer's parallelism. An operator can add partitions while services run:
    /// the inbox holds a message that is read before an earlier one of its aggregate.
    pub const PARTITIONS: i32 = 6;

    /// The names of the deployment with this name.
    pub fn of(deployment: impl Into<String>) -> Self {
        Self { deployment: deployment.into() }
    }

    /// The name of the deployment.
    pub fn deployment(&self) -> &str {
        &self.deployment
    }

    /// The topic of a service's events.
    pub fn events(&self, stream: Stream) -> String {
        self.prefixed(&stream.topic())
    }

    /// A topic's name in this deployment, such as `shop.orders.events`.
    pub fn prefixed(&self, topic: &str) -> String {
        format!("{}.{topic}", self.deployment)
    }

    /// The topic for copies of the messages that a consumer parked.
    pub fn dead_letters(&self, consumer: &str) -> String {
        self.prefixed(&MessageParked::topic(consumer))
    }

    /// The consumer group of a consumer in this deployment.
    pub fn group(&self, consumer: &str) -> String {
        self.prefixed(consumer)
    }
}
