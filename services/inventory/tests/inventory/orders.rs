//! Events of `orders` on a topic that only this test uses, and `inventory` as their consumer.

use std::time::Duration;

use contracts::events::{CancelReason, OrderCancelled, OrderLine, OrderPlaced, PaymentRequested};
use contracts::{Currency, Money, OrderId, PaymentId, streams};
use envelope::{Envelope, Event, EventId, TenantId, Timestamp, Topics};
use inbox::{Runner, RunnerSettings};
use inventory::Inventory;
use messaging::topics::{self, TopicSpec};
use messaging::{Brokers, DeliveryReports, Publisher, Record, admin};
use runtime::Service;
use testkit::given;
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
    brokers: Brokers,
    topics: Topics,
    publisher: Publisher,
    reports: DeliveryReports,
}

impl Orders {
    /// With this number of partitions. Events on one partition are consumed in the order of publication.
    pub(crate) async fn on_partitions(partitions: i32) -> Self {
        let brokers = Brokers::from_environment(&given("IDEM_KAFKA_BROKERS")).unwrap();
        let topics = Topics::of(format!("inventory-test-{}", Uuid::new_v4()));
        topics::ensure(&brokers, &[TopicSpec::new(topics.events(streams::ORDERS), partitions)])
            .await
            .unwrap();
        let (publisher, reports) = Publisher::connect(&brokers).unwrap();
        Self { brokers, topics, publisher, reports }
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
            Runner::join(stage.instance.clone(), &self.brokers, &self.topics, consumer, settings).unwrap();
        let stop = CancellationToken::new();
        let running = stage.instance.spawn(runner.run(stop.clone()));
        Listener { stop, running }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        let (brokers, topic, group) =
            (self.brokers.clone(), self.topics.events(streams::ORDERS), self.topics.group("inventory"));
        let cleanup = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                admin::delete_topics(&brokers, &[&topic]).await.unwrap();
                // Members that were dropped leave in the background.
                for _ in 0..100 {
                    match admin::delete_groups(&brokers, &[&group]).await {
                        Err(messaging::Error::GroupActive { .. }) => {
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                        result => return result.unwrap(),
                    }
                }
            });
        });
        let cleaned = cleanup.join();
        assert!(std::thread::panicking() || cleaned.is_ok(), "the test left its topic or group behind");
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
