//! Publishing without waiting for single records: the caller keeps a window of records under way and learns from
//! the acknowledgements how far it has come.

mod acks;
mod delivery;
mod settings;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, PurgeConfig};

use self::acks::Books;
use self::delivery::Delivery;
use crate::{Brokers, Error, PublishError};

pub use self::acks::{Ack, Acks, NotAcknowledged, Placed};
pub use self::settings::PublisherSettings;

/// A record to publish. Its key decides its partition, by the hash that Java clients use too.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Where to.
    pub topic: &'a str,
    /// Records of one key stay in one partition, in order.
    pub key: &'a [u8],
    /// The body.
    pub payload: &'a [u8],
    /// Names and values.
    pub headers: &'a [(&'a str, &'a [u8])],
}

/// An idempotent producer: what it acknowledges is in all in-sync replicas, and within its lifetime each
/// partition has its records in the order of [`publish`](Self::publish), without repeats. A later publisher that
/// publishes a record again repeats it: consumers deduplicate.
///
/// Dropping it returns at once; a thread of its own abandons what is under way. [`flush`](Self::flush) first.
pub struct Publisher {
    producer: Arc<BaseProducer<Delivery>>,
    books: Arc<Books>,
    max_outstanding: usize,
}

impl Publisher {
    /// Makes a publisher and the stream of its acknowledgements. Returns at once: brokers that are away are
    /// waited for in the background, for ever.
    pub fn connect(brokers: &Brokers, settings: PublisherSettings) -> Result<(Self, Acks), Error> {
        let (delivery, acks) = acks::channel(&settings.name, brokers);
        let books = acks.books();
        let max_outstanding = settings.max_outstanding;
        let producer = BaseProducer::from_config_and_context(&settings.client_config(brokers), delivery)
            .map_err(|error| Error::configuration(&error))?;
        let producer = Arc::new(producer);
        let polled = Arc::clone(&producer);
        thread::Builder::new()
            .name("kafka-publisher".to_owned())
            .spawn(move || poll_until_abandoned(polled))
            .map_err(Error::Thread)?;
        Ok((Self { producer, books, max_outstanding }, acks))
    }

    /// Takes a record without waiting. If it is taken, exactly one [`Ack`] with this token follows.
    pub fn publish(&self, record: Record<'_>, token: u64) -> Result<(), PublishError> {
        if self.books.outstanding() >= self.max_outstanding {
            return Err(PublishError::Full);
        }
        let headers = record
            .headers
            .iter()
            .fold(OwnedHeaders::new_with_capacity(record.headers.len()), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(*value) })
            });
        let message = BaseRecord::with_opaque_to(record.topic, delivery::opaque(token))
            .key(record.key)
            .payload(record.payload)
            .headers(headers);
        self.books.published();
        self.producer.send(message).map_err(|(error, _)| {
            self.books.refused();
            self.explain(&error, record)
        })
    }

    /// Records that were taken and whose [`Ack`] has not been read yet: what the settings' `max_outstanding`
    /// bounds.
    pub fn outstanding(&self) -> usize {
        self.books.outstanding()
    }

    /// Gives up what is queued and what is under way. Each record's [`Ack`] says so; what was under way may be in
    /// the topic nevertheless.
    pub fn purge(&self) {
        self.producer.purge(PurgeConfig::default().queue().inflight().non_blocking());
    }

    /// Waits until every record that was taken has its result; the [`Acks`] may still hold them.
    pub async fn flush(&self, timeout: Duration) -> Result<(), Error> {
        tokio::time::timeout(timeout, self.books.settled())
            .await
            .map_err(|_| Error::Unflushed { in_flight: self.books.in_flight(), timeout })
    }

    /// Why this publisher will never publish again, if so: the brokers contradicted what an idempotent producer
    /// relies on. Drop it, connect another, and publish again what was not acknowledged.
    pub fn fatal_error(&self) -> Option<String> {
        self.producer.client().fatal_error().map(|(_, reason)| reason)
    }

    fn explain(&self, error: &KafkaError, record: Record<'_>) -> PublishError {
        let topic = record.topic.to_owned();
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::QueueFull) => PublishError::Full,
            Some(RDKafkaErrorCode::MessageSizeTooLarge) => {
                PublishError::TooLarge { topic, bytes: record.key.len() + record.payload.len() }
            }
            Some(RDKafkaErrorCode::Fatal) => {
                PublishError::Fatal { reason: self.fatal_error().unwrap_or_else(|| error.to_string()) }
            }
            _ => PublishError::Refused { topic, reason: error.to_string() },
        }
    }
}

/// Serves the acknowledgements. Holds the last reference to the producer, so that its drop, which blocks, happens
/// here and never on a thread of the async runtime.
fn poll_until_abandoned(producer: Arc<BaseProducer<Delivery>>) {
    while Arc::strong_count(&producer) > 1 {
        producer.poll(Duration::from_millis(100));
    }
    drop(producer);
}
