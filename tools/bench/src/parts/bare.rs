//! The bare producer: librdkafka and nothing else, with the records made beforehand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use contracts::{Envelope, EventId, TenantId, Timestamp};
use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use uuid::Uuid;

use crate::ground::Ground;
use crate::trouble::{Doing, Trouble};

/// What the relay makes of a row.
pub(crate) struct Letter {
    pub(crate) key: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Letter {
    /// A message about an order, as `orders` would publish it.
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
}

/// Counts what is acknowledged.
#[derive(Default)]
struct Reports {
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

/// The settings of the relay's producer (`PublisherSettings::default()` of messaging, which shows them to nobody).
fn producer(ground: &Ground) -> Result<BaseProducer<Reports>, Trouble> {
    ClientConfig::new()
        .set("bootstrap.servers", ground.brokers.bootstrap())
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("message.timeout.ms", "0")
        .set("partitioner", "murmur2_random")
        .set("compression.type", "lz4")
        .set("linger.ms", "0")
        .set("queue.buffering.max.messages", "20000")
        .set("queue.buffering.max.kbytes", "32768")
        .create_with_context(Reports::default())
        .doing("make the bare producer")
}

/// Publishes everything; returns how long it took until the last acknowledgement, connecting included.
pub(crate) fn publish(ground: &Ground, topic: &str, letters: &[Letter]) -> Result<Duration, Trouble> {
    let start = Instant::now();
    let producer = producer(ground)?;
    for letter in letters {
        let headers = letter
            .headers
            .iter()
            .fold(OwnedHeaders::new_with_capacity(letter.headers.len()), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(value.as_bytes()) })
            });
        let mut record =
            BaseRecord::to(topic).key(letter.key.as_bytes()).payload(&letter.payload).headers(headers);
        loop {
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), again)) => {
                    producer.poll(Duration::from_millis(5));
                    record = again;
                }
                Err((error, _)) => return Err(error).doing("publish"),
            }
        }
        producer.poll(Duration::ZERO);
    }
    let reports = rdkafka::producer::Producer::context(&producer);
    while reports.delivered.load(Ordering::Relaxed) < letters.len() {
        producer.poll(Duration::from_millis(5));
        if reports.failed.load(Ordering::Relaxed) > 0 {
            return Err(Trouble::Refused("a record of the bare producer was not delivered".to_owned()));
        }
    }
    Ok(start.elapsed())
}
