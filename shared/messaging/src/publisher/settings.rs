//! The publisher's settings: the fields may be changed, the rest of the client configuration is fixed.

use rdkafka::ClientConfig;

use crate::client_log::STATISTICS_INTERVAL_MS;
use crate::{Brokers, Error};

/// Settings of a [`Publisher`](crate::Publisher). The defaults suit a relay.
#[derive(Debug, Clone)]
pub struct PublisherSettings {
    /// The client's name in brokers' metrics and log lines.
    pub name: String,
    /// The largest number of records whose delivery report is unread. At this number `publish` returns `Full`.
    pub max_outstanding: usize,
    /// Memory for queued records, in KiB. Beyond it `publish` returns `Full`.
    pub max_buffer_kbytes: u32,
}

impl Default for PublisherSettings {
    fn default() -> Self {
        Self { name: "idem-publisher".to_owned(), max_outstanding: 10_000, max_buffer_kbytes: 32 * 1024 }
    }
}

impl PublisherSettings {
    pub(crate) fn client_config(self, brokers: &Brokers) -> Result<ClientConfig, Error> {
        let mut config = brokers.client_config(&self.name)?;
        config
            .set("enable.idempotence", "true") // within a session: in order, without gaps and duplicates
            .set("acks", "all")
            .set("message.timeout.ms", "0") // no timeout: a record that timed out would leave a gap
            .set("partitioner", "murmur2_random") // as Java clients do, so that any tool finds a key's partition
            .set("compression.type", "lz4")
            .set("linger.ms", "0") // a lone event waits for no other
            .set("queue.buffering.max.messages", self.library_queue_length().to_string())
            .set("queue.buffering.max.kbytes", self.max_buffer_kbytes.to_string())
            .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
        Ok(config)
    }

    /// The library counts a record a moment longer than this crate. Its limit is twice as high, so that
    /// `max_outstanding` is the limit that counts.
    fn library_queue_length(&self) -> usize {
        self.max_outstanding.saturating_mul(2).clamp(1, 10_000_000)
    }
}
