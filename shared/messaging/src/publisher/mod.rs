//! The producer: publishes records without waiting for each one.
//!
//! The caller publishes several records and reads their results from [`DeliveryReports`]. Within one publisher the records
//! of a partition keep the order of publishing. The number of unread results is bounded.

mod callbacks;
mod delivery_reports;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, PurgeConfig};

use self::callbacks::ProducerCallbacks;
use self::delivery_reports::OutstandingRecords;
use crate::client_log::STATISTICS_INTERVAL_MS;
use crate::{Brokers, Error, PublishError, Refusal};

pub use self::delivery_reports::{DeliveryReport, DeliveryReports, NotAcknowledged, RecordMetadata};

/// How long the thread of a publisher lives on after it. Reports and log lines do not wait for the end of a poll; only its last
/// millisecond is a busy loop of the library, so short polls would cost a hundredth of a processor.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);

/// The client's name in brokers' metrics and log lines.
const NAME: &str = "idem-publisher";

/// The largest number of records whose delivery report is unread. At this number `publish` returns `Full`.
const MAX_OUTSTANDING: usize = 10_000;

/// The client's own limits, beyond which `publish` returns `Full`, too. The client counts a record a moment longer than this
/// crate. Its number is twice as high, so that `MAX_OUTSTANDING` is the limit that counts.
const CLIENT_QUEUE_RECORDS: &str = "20000";
const CLIENT_QUEUE_KBYTES: &str = "32768";

/// A record to publish. The hash of its key chooses its partition, the same partition as Java clients choose.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its key. Records with the same key are in the same partition, in order.
    pub key: &'a [u8],
    /// Its payload.
    pub payload: &'a [u8],
    /// Its headers: names and values.
    pub headers: &'a [(&'a str, &'a [u8])],
}

/// An idempotent producer.
///
/// An acknowledged record is in all in-sync replicas. Within the lifetime of one publisher, each partition has its records
/// in the order of [`publish`](Self::publish), without duplicates. A record that is published again by a later publisher is
/// a duplicate; consumers deduplicate.
///
/// Dropping the publisher returns at once and gives up the records under way. Read their delivery reports first.
pub struct Publisher {
    producer: Arc<BaseProducer<ProducerCallbacks>>,
    outstanding: Arc<OutstandingRecords>,
}

impl Publisher {
    /// Creates a publisher and the stream of its delivery reports. Returns at once; if no broker can be reached, the
    /// client retries in the background without a time limit.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the client refuses a property or a file of one, and [`Error::Thread`] if the process may start
    /// no thread.
    pub fn connect(brokers: &Brokers) -> Result<(Self, DeliveryReports), Error> {
        let outstanding = Arc::new(OutstandingRecords::default());
        let (sender, reports) = DeliveryReports::channel(Arc::clone(&outstanding));
        let callbacks = ProducerCallbacks::new(NAME, brokers, sender);
        let producer = BaseProducer::from_config_and_context(&client_config(brokers)?, callbacks)
            .map_err(|error| Error::configuration(&error))?;
        let producer = Arc::new(producer);
        let polled = Arc::clone(&producer);
        thread::Builder::new()
            .name("kafka-publisher".to_owned())
            .spawn(move || poll_until_dropped(polled))
            .map_err(Error::Thread)?;
        Ok((Self { producer, outstanding }, reports))
    }

    /// Hands a record to the client without waiting. If this succeeds, exactly one [`DeliveryReport`] with this token
    /// follows, unless the reports end before it.
    ///
    /// # Errors
    /// [`PublishError`] says why the record is not sent. No report follows.
    pub fn publish(&self, record: Record<'_>, token: u64) -> Result<(), PublishError> {
        if self.outstanding.count() >= MAX_OUTSTANDING {
            return Err(PublishError::Full);
        }
        let headers = record
            .headers
            .iter()
            .fold(OwnedHeaders::new_with_capacity(record.headers.len()), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(*value) })
            });
        let message = BaseRecord::with_opaque_to(record.topic, callbacks::opaque(token))
            .key(record.key)
            .payload(record.payload)
            .headers(headers);
        // Counted before it is sent, because its report may arrive before `send` returns.
        self.outstanding.add();
        self.producer.send(message).map_err(|(error, _)| {
            self.outstanding.remove();
            self.publish_error(&error, record)
        })
    }

    /// Gives up all queued records and all records under way. Each gets its [`DeliveryReport`], with an error. A record
    /// under way may be in its topic nevertheless.
    pub fn purge(&self) {
        self.producer.purge(PurgeConfig::default().queue().inflight().non_blocking());
    }

    fn publish_error(&self, error: &KafkaError, record: Record<'_>) -> PublishError {
        let topic = record.topic;
        let (reason, unusable_topic) = match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::QueueFull) => return PublishError::Full,
            Some(RDKafkaErrorCode::Fatal) => {
                // The client keeps the first fatal error; it says more than the error of this record.
                let first = self.producer.client().fatal_error();
                let reason = first.map_or_else(|| error.to_string(), |(_, reason)| reason);
                return PublishError::Fatal { reason };
            }
            Some(RDKafkaErrorCode::MessageSizeTooLarge) => {
                let bytes = record.key.len() + record.payload.len();
                (format!("a record of {bytes} bytes for {topic} is larger than `message.max.bytes`"), None)
            }
            Some(code) if callbacks::is_about_the_topic(code) => {
                (format!("the topic {topic} cannot be used: {error}"), Some(topic.to_owned()))
            }
            _ => (format!("the record for {topic} was refused: {error}"), None),
        };
        PublishError::Refused(Refusal { reason, unusable_topic })
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.purge(); // its thread and the client live on for a moment
    }
}

pub(crate) fn client_config(brokers: &Brokers) -> Result<ClientConfig, Error> {
    let mut config = brokers.client_config(NAME)?;
    config
        .set("enable.idempotence", "true") // within a session: in order, without gaps and duplicates
        .set("acks", "all")
        .set("message.timeout.ms", "0") // no timeout: a record that timed out would leave a gap
        .set("partitioner", "murmur2_random") // as Java clients do, so that any tool finds a key's partition
        .set("compression.type", "lz4")
        .set("linger.ms", "0") // a lone event waits for no other
        .set("queue.buffering.max.messages", CLIENT_QUEUE_RECORDS)
        .set("queue.buffering.max.kbytes", CLIENT_QUEUE_KBYTES)
        .set("statistics.interval.ms", STATISTICS_INTERVAL_MS);
    Ok(config)
}

/// Serves the client's callbacks until the publisher is dropped.
///
/// Dropping the producer blocks. This thread therefore holds the last reference, so that no thread of the async runtime
/// drops it.
fn poll_until_dropped(producer: Arc<BaseProducer<ProducerCallbacks>>) {
    while Arc::strong_count(&producer) > 1 {
        producer.poll(POLL_TIMEOUT);
    }
    drop(producer);
}
