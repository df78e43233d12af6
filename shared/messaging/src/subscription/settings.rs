//! What may be tuned about a subscription, and what may not.

use std::time::Duration;

use rdkafka::ClientConfig;

use crate::Brokers;
use crate::client_log::STATISTICS_INTERVAL_MS;

/// Settings of a [`Subscription`](crate::Subscription).
///
/// ```
/// use messaging::SubscriptionSettings;
/// let settings = SubscriptionSettings {
///     max_batch: 100,
///     ..SubscriptionSettings::new("inventory", ["orders.events"])
/// };
/// # assert_eq!(settings.group, "inventory");
/// ```
#[derive(Debug, Clone)]
pub struct SubscriptionSettings {
    /// The consumer group: its members share the partitions and the offsets.
    pub group: String,
    /// What to read.
    pub topics: Vec<String>,
    /// Messages in a batch, at most.
    pub max_batch: usize,
    /// Bytes in a batch: it is closed by the message that reaches them.
    pub max_batch_bytes: usize,
    /// Batches that wait to be taken, at most.
    pub max_waiting_batches: usize,
    /// Fetched ahead for each partition, in KiB.
    pub prefetch_kbytes: u32,
    /// How long a batch that was dropped undone rests before it is out again.
    pub redelivery_delay: Duration,
    /// How often the offsets of done batches are committed.
    pub commit_interval: Duration,
    /// After so long without a sign of life the brokers give the partitions to other members. Brokers accept no
    /// less than 6 s unless told so.
    pub session_timeout: Duration,
    /// How often a sign of life is sent.
    pub heartbeat_interval: Duration,
    /// After so long without polling the client itself leaves the group. Work on batches does not count: only a
    /// process that stands still stops polling.
    pub max_poll_interval: Duration,
}

impl SubscriptionSettings {
    /// The settings of a service's consumer.
    pub fn new(group: impl Into<String>, topics: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            group: group.into(),
            topics: topics.into_iter().map(Into::into).collect(),
            max_batch: 500,
            max_batch_bytes: 4 * 1024 * 1024,
            max_waiting_batches: 16,
            prefetch_kbytes: 1024,
            redelivery_delay: Duration::from_millis(500),
            commit_interval: Duration::from_secs(1),
            session_timeout: Duration::from_secs(6),
            heartbeat_interval: Duration::from_secs(2),
            max_poll_interval: Duration::from_mins(1),
        }
    }

    pub(super) fn client_config(&self, brokers: &Brokers) -> ClientConfig {
        let mut config = brokers.client_config(&self.group);
        config
            .set("group.id", &self.group)
            .set("group.protocol", "classic")
            .set("partition.assignment.strategy", "range")
            .set("session.timeout.ms", self.session_timeout.as_millis().to_string())
            .set("heartbeat.interval.ms", self.heartbeat_interval.as_millis().to_string())
            .set("max.poll.interval.ms", self.max_poll_interval.as_millis().to_string())
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.offset.store", "false") // Batch::done stores, nothing else
            .set("enable.auto.commit", "true") // of stored offsets; also before a partition is let go
            .set("auto.commit.interval.ms", self.commit_interval.as_millis().to_string())
            .set("allow.auto.create.topics", "false")
            .set("topic.metadata.refresh.interval.ms", "5000") // a topic created later is found this soon
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true")
            .set("fetch.message.max.bytes", (256 * 1024).to_string()) // per partition; a larger message comes alone
            .set("queued.max.messages.kbytes", self.prefetch_kbytes.to_string())
            .set("fetch.queue.backoff.ms", "10") // the default of a second starves a consumer that is fast again
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
        config
    }
}
