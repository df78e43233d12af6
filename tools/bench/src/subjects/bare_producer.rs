//! The bare producer: librdkafka alone, with records that were made before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use envelope::{Envelope, EventId, TenantId, Timestamp};
use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use uuid::Uuid;

use crate::environment::Environment;
use harness::{Context, Error, Result};

/// A record as the relay sends it for a row.
pub(crate) struct OutgoingRecord {
    pub(crate) key: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl OutgoingRecord {
    /// A record about an order, as the relay of orders sends it.
    pub(crate) fn about(
        order: Uuid,
        id: Uuid,
        kind: &str,
        payload: Vec<u8>,
        tenant: &TenantId,
        time: &str,
    ) -> Self {
        let envelope = Envelope {
            id: EventId::from(id),
            kind: kind.to_owned(),
            source: "orders".to_owned(),
            aggregate: order,
            sequence: 1,
            time: Timestamp::from_rfc3339(time),
            tenant: tenant.clone(),
            traceparent: None,
        };
        Self { key: order.to_string(), payload, headers: envelope.to_headers() }
    }

    /// The record as librdkafka takes it.
    pub(crate) fn to<'r>(&'r self, topic: &'r str) -> BaseRecord<'r, String, Vec<u8>> {
        let headers = OwnedHeaders::new_with_capacity(self.headers.len());
        let headers = self.headers.iter().fold(headers, |headers, (key, value)| {
            headers.insert(Header { key, value: Some(value.as_bytes()) })
        });
        BaseRecord::to(topic).key(&self.key).payload(&self.payload).headers(headers)
    }
}

/// Counts acknowledgements.
#[derive(Default)]
pub(crate) struct Reports {
    delivered: AtomicUsize,
    failed: AtomicUsize,
}

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, report: &DeliveryResult<'_>, (): ()) {
        let counter = if report.is_ok() { &self.delivered } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The settings of the relay's producer: `client_config` of messaging's publisher, which is private there.
pub(crate) fn producer(environment: &Environment) -> Result<BaseProducer<Reports>> {
    ClientConfig::new()
        .set("bootstrap.servers", environment.brokers.bootstrap())
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("message.timeout.ms", "0")
        .set("partitioner", "murmur2_random")
        .set("compression.type", "lz4")
        .set("linger.ms", "0")
        .set("queue.buffering.max.messages", "20000")
        .set("queue.buffering.max.kbytes", "32768")
        .create_with_context(Reports::default())
        .context("make the bare producer")
}

/// Publishes all records; returns the time until the last acknowledgement, connecting included.
pub(crate) fn publish(
    environment: &Environment,
    topic: &str,
    records: &[OutgoingRecord],
) -> Result<Duration> {
    let start = Instant::now();
    let producer = producer(environment)?;
    for record in records {
        let mut record = record.to(topic);
        loop {
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), again)) => {
                    producer.poll(Duration::from_millis(5));
                    record = again;
                }
                Err((error, _)) => return Err(error).context("publish"),
            }
        }
        producer.poll(Duration::ZERO);
    }
    let reports = rdkafka::producer::Producer::context(&producer);
    while reports.delivered.load(Ordering::Relaxed) < records.len() {
        producer.poll(Duration::from_millis(5));
        if reports.failed.load(Ordering::Relaxed) > 0 {
            return Err(Error::Refused("a record of the bare producer was not delivered".to_owned()));
        }
    }
    Ok(start.elapsed())
}
