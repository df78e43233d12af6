//! What may be tuned about a publisher, and what may not.

use std::time::Duration;

use rdkafka::ClientConfig;

use crate::Brokers;
use crate::client_log::STATISTICS_INTERVAL_MS;

/// Settings of a [`Publisher`](crate::Publisher). The defaults suit a relay.
#[derive(Debug, Clone)]
pub struct PublisherSettings {
    /// How brokers and log lines call this client.
    pub name: String,
    /// How long a record waits for company in its batch: 0 for latency, some milliseconds for throughput.
    pub linger: Duration,
    /// Records taken whose acknowledgement has not been read; at this number `publish` says full.
    pub max_outstanding: usize,
    /// Memory for records that wait, in KiB; `publish` says full beyond it.
    pub max_buffer_kbytes: u32,
}

impl Default for PublisherSettings {
    fn default() -> Self {
        Self {
            name: "idem-publisher".to_owned(),
            linger: Duration::ZERO,
            max_outstanding: 10_000,
            max_buffer_kbytes: 32 * 1024,
        }
    }
}

impl PublisherSettings {
    pub(super) fn client_config(self, brokers: &Brokers) -> ClientConfig {
        let mut config = brokers.client_config(&self.name);
        config
            .set("enable.idempotence", "true") // no repeats and no gaps within a session, in order
            .set("acks", "all")
            .set("message.timeout.ms", "0") // a record that timed out would leave a gap; an outage is waited out
            .set("partitioner", "murmur2_random") // as Java clients do, so that every tool finds a key's partition
            .set("compression.type", "lz4")
            .set("linger.ms", self.linger.as_millis().to_string())
            .set("queue.buffering.max.messages", self.own_queue_length().to_string())
            .set("queue.buffering.max.kbytes", self.max_buffer_kbytes.to_string())
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
        config
    }

    /// The library counts a record a moment longer than we do; `max_outstanding` shall be the bound.
    fn own_queue_length(&self) -> usize {
        self.max_outstanding.saturating_mul(2).clamp(1, 10_000_000)
    }
}
