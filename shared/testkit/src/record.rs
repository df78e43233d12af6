//! Messages with any content, including content that no service sends.

use contracts::events::OrderConfirmed;
use contracts::{OrderId, PaymentId};
use envelope::{Envelope, Event, EventId, Timestamp};
use messaging::{Publisher, Record};

use crate::TestTopics;

/// A message that a test can change before it is sent.
#[derive(Clone)]
#[must_use]
pub struct TestRecord {
    /// The topic.
    pub topic: String,
    /// The key, which decides the partition.
    pub key: String,
    /// The headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The value.
    pub payload: Vec<u8>,
}

/// The confirmation of an order, for tests that only need some event of orders.
pub fn confirmed(order: OrderId) -> OrderConfirmed {
    OrderConfirmed { order, payment: PaymentId::of(order) }
}

/// A message of this event and sequence, with a new id.
pub fn record<E: Event>(topics: &TestTopics, sequence: i64, event: &E) -> TestRecord {
    let envelope = Envelope {
        id: EventId::generate(),
        kind: E::TYPE.to_owned(),
        source: E::STREAM.name().to_owned(),
        aggregate: event.aggregate(),
        sequence,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00Z"),
        tenant: "acme".parse().unwrap(),
        traceparent: None,
    };
    let headers =
        envelope.to_headers().into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes()));
    TestRecord {
        topic: topics.events(E::STREAM),
        key: event.key().to_string(),
        headers: headers.collect(),
        payload: serde_json::to_vec(event).unwrap(),
    }
}

impl TestRecord {
    /// Replaces a header.
    pub fn with(mut self, name: &str, value: &[u8]) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_vec()));
        self
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| header != name);
        self
    }

    /// Replaces the payload.
    pub fn saying(self, payload: &str) -> Self {
        Self { payload: payload.as_bytes().to_vec(), ..self }
    }

    /// Sends the message to the partition of this key.
    pub fn keyed(self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self }
    }
}

/// Sends the messages in this order. Returns their partitions when all are acknowledged.
pub async fn publish(topics: &TestTopics, records: &[TestRecord]) -> Vec<i32> {
    let (publisher, mut acks) = Publisher::connect(&topics.brokers()).unwrap();
    for (token, record) in (0..).zip(records) {
        let headers: Vec<(&str, &[u8])> =
            record.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let (key, payload) = (record.key.as_bytes(), record.payload.as_slice());
        publisher.publish(Record { topic: &record.topic, key, payload, headers: &headers }, token).unwrap();
    }
    let mut partitions = vec![0; records.len()];
    for _ in records {
        let ack = acks.next().await.unwrap();
        partitions[usize::try_from(ack.token).unwrap()] = ack.result.unwrap().partition;
    }
    partitions
}
