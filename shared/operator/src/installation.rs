//! `Installation`: the parts of a service that the commands of every service use.

use database::Database;
use envelope::Topics;
use idempotency::KeyPolicy;
use inbox::Consumer;
use messaging::Brokers;

/// The database, topics, consumer and brokers of a service, for its commands.
pub struct Installation {
    /// The service's database.
    pub database: Database,
    /// The names of topics and consumer groups.
    pub topics: Topics,
    /// The service's consumer: a redrive runs its handlers. `None` if it reads no topic.
    pub consumer: Option<Consumer>,
    /// The brokers, for commands that need Kafka.
    pub brokers: Option<Brokers>,
    /// Which spellings are the same key.
    pub key_policy: KeyPolicy,
}

/// The setting of commands that need Kafka.
pub(crate) const KAFKA: &[&str] = &["kafka.brokers"];

impl Installation {
    pub(crate) fn brokers(&self) -> Result<&Brokers, &'static str> {
        self.brokers.as_ref().ok_or("the command needs Kafka: set kafka.brokers")
    }

    pub(crate) fn consumer(&self) -> Result<&Consumer, &'static str> {
        self.consumer.as_ref().ok_or("the service has no consumer, so it has no inbox")
    }
}
