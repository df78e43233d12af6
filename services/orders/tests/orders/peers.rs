//! Events of inventory and payments on topics that only one test uses, and `orders` as their consumer.

use std::collections::BTreeMap;

use database::Database;
use envelope::{Envelope, Event, EventId, Timestamp};
use inbox::{Runner, RunnerSettings};
use messaging::{DeliveryReports, Publisher, Record};
use orders::Orders;
use runtime::Service;
use testkit::{Background, TestTopics};
use uuid::Uuid;

use crate::bench::{Bench, context};

/// The other services. Each aggregate has its own sequence of events.
pub(crate) struct Peers {
    publisher: Publisher,
    reports: DeliveryReports,
    sequences: BTreeMap<Uuid, i64>,
    consumer: Option<Background>,
    topics: TestTopics,
}

impl Peers {
    /// Starts a consumer on another instance of the bench's service.
    pub(crate) async fn of(bench: &Bench) -> Self {
        let mut peers = Self::without_consumer().await;
        peers.consume(bench.database.second_instance());
        peers
    }

    /// Their messages wait on the topics.
    pub(crate) async fn without_consumer() -> Self {
        let topics = TestTopics::create().await;
        let (publisher, reports) = Publisher::connect(&topics.brokers()).unwrap();
        Self { publisher, reports, sequences: BTreeMap::new(), consumer: None, topics }
    }

    /// Starts the consumer on this database.
    pub(crate) fn consume(&mut self, database: Database) {
        let handlers = Orders::consumer(&context(database.clone())).unwrap();
        let settings = RunnerSettings { attempts: 2, ..RunnerSettings::default() };
        let runner =
            Runner::join(database, &self.topics.brokers(), &self.topics, handlers, settings).unwrap();
        self.consumer = Some(Background::run(|stop| async move { runner.run(stop).await }));
    }

    /// Publishes an event for the tenant `acme`. Returns the message's id when the event is on the topic.
    pub(crate) async fn publish<E: Event>(&mut self, event: &E) -> String {
        self.publish_for("acme", event).await
    }

    /// Publishes an event for this tenant.
    pub(crate) async fn publish_for<E: Event>(&mut self, tenant: &str, event: &E) -> String {
        let sequence = self.sequences.entry(event.aggregate()).or_default();
        *sequence += 1;
        let envelope = Envelope {
            id: EventId::generate(),
            kind: E::TYPE.to_owned(),
            source: E::STREAM.name().to_owned(),
            aggregate: event.aggregate(),
            sequence: *sequence,
            time: Timestamp::from_rfc3339("2026-11-20T12:00:00.000000Z"),
            tenant: tenant.parse().unwrap(),
            traceparent: None,
        };
        let headers = envelope.to_headers();
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let (topic, key) = (self.topics.events(E::STREAM), event.key().to_string());
        let payload = serde_json::to_vec(event).unwrap();
        let record = Record { topic: &topic, key: key.as_bytes(), payload: &payload, headers: &headers };
        self.publisher.publish(record, 0).unwrap();
        self.reports.next().await.unwrap().result.unwrap();
        envelope.id.to_string()
    }

    /// Stops the consumer.
    pub(crate) async fn stop(self) {
        if let Some(consumer) = self.consumer {
            consumer.stop().await;
        }
    }
}
