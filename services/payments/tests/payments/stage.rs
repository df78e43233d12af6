//! A service with its own database and its own processor.

use std::time::Duration;

use chrono::TimeDelta;
use contracts::events::{CancelReason, OrderCancelled, PaymentRequested};
use contracts::{Currency, Money, OrderId, PaymentId};
use database::Database;
use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use envelope::{Envelope, Event, EventId, Message, TenantId, Timestamp};
use inbox::HandlerError;
use payments::domain::LookupLimits;
use payments::processor::{CallPolicy, RequestBodies};
use payments::{
    Backoff, Payments, ReconcileSettings, RefundRetries, Settings, WebhookSettings, Worker, WorkerSettings,
    consumers,
};
use runtime::Service;
use serde_json::Value;
use testkit::{Background, TestDatabase, eventually};

use crate::processor::Processor;

pub(crate) const TENANT: &str = "acme";
pub(crate) const VISA: &str = "pm_card_visa";
pub(crate) const AMOUNT: i64 = 1999;

pub(crate) struct Stage {
    pub(crate) database: TestDatabase,
    pub(crate) processor: Processor,
}

/// An order and its payment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) order: OrderId,
    pub(crate) payment: PaymentId,
}

impl Order {
    /// Returns an order that the service does not know.
    pub(crate) fn new() -> Self {
        Self::with(OrderId::generate())
    }

    /// Returns the order with this id.
    pub(crate) fn with(order: OrderId) -> Self {
        Self { order, payment: PaymentId::of(order) }
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::with(vec![Payments::migrations()]).await;
        Self { database, processor: Processor::start().await }
    }

    /// The settings of a service at this processor, without the secret of a webhook.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            processor: Some(self.processor.client()),
            policy: policy(),
            worker: brisk(),
            payment_life: Duration::from_mins(15),
            webhooks: WebhookSettings {
                secrets: Vec::new(),
                tolerance: Duration::ZERO,
                keep: TimeDelta::days(90),
            },
            reconcile: ReconcileSettings {
                every: None,
                grace: Duration::from_mins(15),
                look_back: Duration::from_hours(48),
            },
        }
    }

    /// An order that is to be paid with this card.
    pub(crate) async fn request(&self, card: &str) -> Order {
        let order = Order::new();
        self.ask(&requested(order, card, LATER)).await.unwrap();
        order
    }

    /// Handles the payment request of an order.
    pub(crate) async fn ask(&self, wanted: &Message<PaymentRequested>) -> Result<(), HandlerError> {
        let mut tx = self.database.begin().await?;
        consumers::charge(&mut tx, &policy(), wanted).await?;
        Ok(tx.commit().await?)
    }

    /// Handles the cancellation of an order.
    pub(crate) async fn cancel(&self, order: Order) {
        let mut tx = self.database.begin().await.unwrap();
        let cancelled = OrderCancelled { order: order.order, reason: CancelReason::Customer };
        consumers::cancel(&mut tx, &policy(), &message(cancelled)).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Returns a worker with these settings.
    pub(crate) fn worker(&self, limits: WorkerSettings) -> Background {
        self.worker_with(policy(), limits)
    }

    /// Returns a worker with this policy and these settings.
    pub(crate) fn worker_with(&self, policy: CallPolicy, limits: WorkerSettings) -> Background {
        worker_with(Database::clone(&self.database), self.processor.client(), policy, limits)
    }

    /// Returns a worker of another instance of the service.
    pub(crate) fn second_worker(&self) -> Background {
        worker(self.database.second_instance(), self.processor.client(), brisk())
    }

    /// Waits until the payment is in this state.
    pub(crate) async fn becomes(&self, order: Order, state: &str) {
        eventually(&format!("a payment that is {state}"), async || {
            (self.states(order).await == [state]).then_some(())
        })
        .await;
    }

    pub(crate) async fn state(&self, order: Order) -> String {
        self.states(order).await.remove(0)
    }

    /// Returns the state of the payment, or an empty text if there is no payment.
    async fn states(&self, order: Order) -> Vec<String> {
        self.texts(&format!("SELECT state FROM payment WHERE id = '{}'", order.payment)).await
    }

    /// The states of the payment's refunds.
    pub(crate) async fn refunds(&self, order: Order) -> Vec<String> {
        let payment = order.payment;
        self.texts(&format!("SELECT state FROM refund WHERE payment_id = '{payment}' ORDER BY created_at"))
            .await
    }

    /// Waits until no call is due.
    pub(crate) async fn is_at_rest(&self) {
        eventually("calls at rest", async || {
            (self.count("SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL").await == 0)
                .then_some(())
        })
        .await;
    }

    /// Returns the announced events of the payment: type and data, in order.
    pub(crate) async fn announced(&self, order: Order) -> Vec<(String, Value)> {
        let sql = format!(
            "SELECT json_build_array(sequence, type, convert_from(payload, 'UTF8')::json)::text
             FROM outbox_event WHERE aggregate_id = '{}' ORDER BY id",
            order.payment
        );
        let events = self.texts(&sql).await;
        let events: Vec<(i64, String, Value)> =
            events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        let sequences: Vec<i64> = events.iter().map(|(sequence, ..)| *sequence).collect();
        assert_eq!(sequences, (1..).take(events.len()).collect::<Vec<i64>>());
        events.into_iter().map(|(_, kind, data)| (kind, data)).collect()
    }

    /// Returns the types of the announced events, without service and version.
    pub(crate) async fn announced_types(&self, order: Order) -> Vec<String> {
        let announced = self.announced(order).await.into_iter();
        announced.map(|(kind, _)| kind.split('.').nth(1).unwrap().to_owned()).collect()
    }

    /// Returns the actions of all audit facts, sorted.
    pub(crate) async fn facts(&self) -> Vec<String> {
        self.texts("SELECT action FROM audit_fact ORDER BY action").await
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }

    pub(crate) async fn text(&self, sql: &str) -> String {
        self.texts(sql).await.remove(0)
    }

    /// Runs a statement as the owner, which the service may not run.
    pub(crate) async fn meddle(&self, sql: &str) {
        sql_query(sql).execute(&mut self.database.owner().await).await.unwrap();
    }

    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = Text)]
            text: String,
        }
        let sql = format!("SELECT text FROM ({sql}) AS rows (text)");
        let rows: Vec<Row> = sql_query(sql).load(&mut self.database.owner().await).await.unwrap();
        rows.into_iter().map(|row| row.text).collect()
    }
}

pub(crate) fn worker(
    database: Database,
    client: payments::processor::Processor,
    limits: WorkerSettings,
) -> Background {
    worker_with(database, client, policy(), limits)
}

pub(crate) fn worker_with(
    database: Database,
    client: payments::processor::Processor,
    policy: CallPolicy,
    limits: WorkerSettings,
) -> Background {
    let worker = Worker::new(database, client, policy, limits);
    Background::run(|stop| worker.run(stop))
}

pub(crate) const LATER: &str = "2099-01-01T00:00:00Z";
pub(crate) const PAST: &str = "2020-01-01T00:00:00Z";

/// A policy with short pauses.
pub(crate) fn policy() -> CallPolicy {
    CallPolicy {
        bodies: RequestBodies::of("test"),
        limits: LookupLimits {
            key_life: Duration::from_hours(23),
            look_ups: 3,
            review_after: Duration::from_hours(48),
        },
        retries: RefundRetries {
            tries: 3,
            backoff: Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(20) },
        },
    }
}

pub(crate) fn tenant() -> TenantId {
    TENANT.parse().unwrap()
}

pub(crate) fn requested(order: Order, card: &str, expires_at: &str) -> Message<PaymentRequested> {
    message(PaymentRequested {
        order: order.order,
        payment: order.payment,
        amount: Money::new(AMOUNT, Currency::Eur),
        payment_method: card.to_owned(),
        expires_at: Timestamp::from_rfc3339(expires_at),
    })
}

pub(crate) fn message<E: Event>(data: E) -> Message<E> {
    let envelope = Envelope {
        id: EventId::generate(),
        kind: E::TYPE.to_owned(),
        source: E::STREAM.name().to_owned(),
        aggregate: data.aggregate(),
        sequence: 1,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00Z"),
        tenant: tenant(),
        traceparent: None,
    };
    Message { envelope, data }
}

/// Worker settings with short pauses.
pub(crate) fn brisk() -> WorkerSettings {
    WorkerSettings {
        concurrency: 4,
        look_up_concurrency: 2,
        lease: Duration::from_mins(1),
        poll: Duration::from_millis(10),
        gather: Duration::from_millis(1),
        backoff: Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(20) },
        faults: 8,
        look_up_backoff: Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(20) },
    }
}
