//! The subscription's settings: the fields may be changed, the rest of the client configuration is fixed.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::ClientConfig;

use super::PartitionLags;
use crate::client_log::STATISTICS_INTERVAL_MS;
use crate::{Brokers, Error, ReceivedMessage};

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
#[derive(Clone)]
pub struct SubscriptionSettings {
    /// The consumer group. Its members share the partitions and the offsets.
    pub group: String,
    /// The name of the client in the brokers' list of members.
    pub client: String,
    /// The topics to read.
    pub topics: Vec<String>,
    /// The largest number of messages in a batch.
    pub max_batch: usize,
    /// The size of a batch in bytes. The message that reaches this size is the last of its batch.
    pub max_batch_bytes: usize,
    /// Returns whether a message may wait for the next one of its partition. The function must not block.
    pub may_wait: Arc<dyn Fn(&ReceivedMessage) -> bool + Send + Sync>,
    /// The longest time from the first message on that a batch waits all of whose messages may wait. Far below five seconds, because
    /// [`progress`](Self::progress) is not asked meanwhile.
    pub longest_wait: Duration,
    /// The delay before a batch that was dropped without `done` is delivered again.
    pub redelivery_delay: Duration,
    /// The interval between commits of offsets.
    pub commit_interval: Duration,
    /// Returns whether the program that works on the batches makes progress. The member calls the function before each poll, some four
    /// times a second. While the function returns false, the member polls nothing: the client leaves the group, and other members get the
    /// partitions. The function must not block.
    pub progress: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Counts records that Kafka removed before the group had read them.
    pub count_missing: Arc<dyn Fn(u64) + Send + Sync>,
    /// Where the lag of each partition of this member is kept.
    pub lags: PartitionLags,
}

/// The time without a heartbeat after which the brokers assign the partitions to other members. By default brokers accept 6 s
/// or more.
const SESSION_TIMEOUT_MS: &str = "6000";

/// The time without a poll after which the client leaves the group, at least [`SESSION_TIMEOUT_MS`]. A slow batch does not stop
/// the polling; only a stopped process does, and [`SubscriptionSettings::progress`]. A rebalance waits so long for a member
/// that does not answer, and no member reads meanwhile.
const MAX_POLL_INTERVAL_MS: &str = "6000";

/// How often a member asks whether the program makes progress.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

impl SubscriptionSettings {
    /// Returns the defaults for a service's consumer.
    pub fn new(group: impl Into<String>, topics: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let group = group.into();
        Self {
            client: group.clone(),
            group,
            topics: topics.into_iter().map(Into::into).collect(),
            max_batch: 500,
            max_batch_bytes: 4 * 1024 * 1024,
            may_wait: Arc::new(|_| false),
            longest_wait: Duration::ZERO,
            redelivery_delay: Duration::from_millis(500),
            commit_interval: Duration::from_secs(1),
            progress: Arc::new(|| true),
            count_missing: Arc::new(|_| ()),
            lags: PartitionLags::default(),
        }
    }

    /// Waits until the program makes progress.
    pub(super) async fn wait_for_progress(&self) {
        while !(self.progress)() {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
        }
    }

    pub(crate) fn client_config(&self, brokers: &Brokers) -> Result<ClientConfig, Error> {
        let mut config = brokers.client_config(&self.client)?;
        config
            .set("group.id", &self.group)
            .set("group.protocol", "classic")
            .set("partition.assignment.strategy", "cooperative-sticky") // only partitions that move are interrupted
            .set("session.timeout.ms", SESSION_TIMEOUT_MS)
            .set("heartbeat.interval.ms", "500") // so soon a member learns of a rebalance
            .set("max.poll.interval.ms", MAX_POLL_INTERVAL_MS)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.offset.store", "false") // only Batch::done stores offsets
            .set("enable.auto.commit", "true") // of stored offsets, also before a partition is revoked
            .set("auto.commit.interval.ms", self.commit_interval.as_millis().to_string())
            .set("allow.auto.create.topics", "false")
            .set("topic.metadata.refresh.interval.ms", "5000") // how soon a new topic is found
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true")
            .set("fetch.message.max.bytes", (256 * 1024).to_string()) // per partition; a larger message is fetched alone
            .set("queued.max.messages.kbytes", "1024") // per partition
            .set("fetch.queue.backoff.ms", "10") // Otherwise (1 s) a consumer that is fast again waits for messages
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
        Ok(config)
    }
}
