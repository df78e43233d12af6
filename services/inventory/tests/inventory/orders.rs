//! Events of `orders` on a topic that only this test uses, and `inventory` as their consumer.

use contracts::events::{CancelReason, OrderCancelled, OrderLine, OrderPlaced, PaymentRequested};
use contracts::{Currency, Money, OrderId, PaymentId, streams};
use envelope::{Envelope, Event, EventId, TenantId, Timestamp};
use inbox::{Runner, RunnerSettings};
use inventory::Inventory;
use messaging::topics::{self, TopicSpec};
use messaging::{DeliveryReports, Publisher, Record};
use runtime::Service;
use testkit::TestTopics;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::stage::{Stage, sku, tenant};

/// A message; published again, it is a redelivery.
#[derive(Clone)]
pub(crate) struct Published {
    envelope: Envelope,
    key: Uuid,
    payload: Vec<u8>,
}

impl Published {
    pub(crate) fn by(tenant: TenantId, sequence: i64, event: &impl Event) -> Self {
        Self {
            envelope: envelope(tenant, sequence, event),
            key: event.key(),
            payload: serde_json::to_vec(event).unwrap(),
        }
    }
}

fn envelope<E: Event>(tenant: TenantId, sequence: i64, event: &E) -> Envelope {
    Envelope {
        id: EventId::generate(),
        kind: E::TYPE.to_owned(),
        source: E::STREAM.name().to_owned(),
        aggregate: event.aggregate(),
        sequence,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00.000000Z"),
        tenant,
        traceparent: None,
    }
}

pub(crate) fn placed(order: OrderId, lines: &[(&str, i64)]) -> Published {
    let lines =
        lines.iter().map(|(name, quantity)| OrderLine { sku: sku(name), quantity: *quantity }).collect();
    Published::by(tenant(), 1, &OrderPlaced { order, lines, total: Money::new(1, Currency::Eur) })
}

pub(crate) fn payment_requested(order: OrderId) -> Published {
    let event = PaymentRequested {
        order,
        payment: PaymentId::generate(),
        amount: Money::new(1, Currency::Eur),
        payment_method: "pm_card_visa".to_owned(),
        expires_at: Timestamp::from_rfc3339("2026-11-20T12:15:00.000000Z"),
    };
    Published::by(tenant(), 2, &event)
}

pub(crate) fn confirmed(order: OrderId, sequence: i64) -> Published {
    Published::by(tenant(), sequence, &testkit::confirmed(order))
}

pub(crate) fn cancelled(order: OrderId, sequence: i64) -> Published {
    Published::by(tenant(), sequence, &OrderCancelled { order, reason: CancelReason::Customer })
}

/// The topic of `orders`. Topic and consumer group are deleted when the test ends.
pub(crate) struct Orders {
    topics: TestTopics,
    publisher: Publisher,
    reports: DeliveryReports,
}

impl Orders {
    /// With this number of partitions. Events on one partition are consumed in the order of publication.
    pub(crate) async fn on_partitions(partitions: i32) -> Self {
        let topics = TestTopics::names();
        let spec = TopicSpec::new(topics.events(streams::ORDERS), partitions);
        topics::ensure(&topics.brokers(), &[spec]).await.unwrap();
        let (publisher, reports) = Publisher::connect(&topics.brokers()).unwrap();
        Self { topics, publisher, reports }
    }

    /// Publishes these messages. Returns when all are on the topic.
    pub(crate) async fn publish(&mut self, events: &[Published]) {
        let topic = self.topics.events(streams::ORDERS);
        for (token, Published { envelope, key, payload }) in (0..).zip(events) {
            let headers = envelope.to_headers();
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
            let key = key.to_string();
            let record = Record { topic: &topic, key: key.as_bytes(), payload, headers: &headers };
            self.publisher.publish(record, token).unwrap();
        }
        for _ in events {
            self.reports.next().await.unwrap().result.unwrap();
        }
    }

    /// Starts a consumer of the service.
    pub(crate) fn listen(&self, stage: &Stage) -> Listener {
        let consumer = Inventory::consumer(&stage.context()).unwrap();
        let settings = RunnerSettings { attempts: 2, ..RunnerSettings::default() };
        let runner =
            Runner::join(stage.instance.clone(), &self.topics.brokers(), &self.topics, consumer, settings)
                .unwrap();
        let stop = CancellationToken::new();
        let running = stage.instance.spawn(runner.run(stop.clone()));
        Listener { stop, running }
    }
}

/// A running consumer.
pub(crate) struct Listener {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Listener {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}
