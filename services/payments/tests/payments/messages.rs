//! The messages of `orders`, over Kafka.

use clap::Parser;
use contracts::events::{CancelReason, OrderCancelled, OrderConfirmed, OrderLine, OrderPlaced};
use contracts::{Currency, Money, streams};
use database::Database;
use envelope::{Envelope, Event, EventId, Timestamp, Topics};
use idempotency::KeyPolicy;
use inbox::{Runner, RunnerSettings};
use messaging::{Publisher, Record};
use operators::{InboxCommand, Installation, OperatorCommand};
use payments::Payments;
use runtime::{Context, Service};
use serde_json::Value;
use testkit::{Background, TestTopics, eventually};
use uuid::Uuid;

use crate::stage::{LATER, Order, Stage, VISA, brisk, requested, tenant};

/// A message; published again, it is a redelivery.
struct OrderMessage {
    envelope: Envelope,
    key: Uuid,
    payload: Vec<u8>,
}

fn message<E: Event>(sequence: i64, event: &E) -> OrderMessage {
    let envelope = Envelope {
        id: EventId::generate(),
        kind: E::TYPE.to_owned(),
        source: E::STREAM.name().to_owned(),
        aggregate: event.aggregate(),
        sequence,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00.000000Z"),
        tenant: tenant(),
        traceparent: Some(TRACEPARENT.to_owned()),
    };
    OrderMessage { envelope, key: event.key(), payload: serde_json::to_vec(event).unwrap() }
}

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn placed(order: Order) -> OrderMessage {
    let lines = vec![OrderLine { sku: "tea".parse().unwrap(), quantity: 1 }];
    message(1, &OrderPlaced { order: order.order, lines, total: Money::new(1999, Currency::Eur) })
}

fn payment_requested(order: Order) -> OrderMessage {
    message(2, &requested(order, VISA, LATER).data)
}

fn confirmed(order: Order, sequence: i64) -> OrderMessage {
    message(sequence, &OrderConfirmed { order: order.order, payment: order.payment })
}

fn cancelled(order: Order, sequence: i64) -> OrderMessage {
    message(sequence, &OrderCancelled { order: order.order, reason: CancelReason::Customer })
}

/// Publishes these messages. Returns when all are on the topic.
async fn publish(topics: &TestTopics, messages: &[OrderMessage]) {
    let (publisher, mut acks) = Publisher::connect(&topics.brokers()).unwrap();
    let topic = topics.events(streams::ORDERS);
    for (token, OrderMessage { envelope, key, payload }) in (0..).zip(messages) {
        let headers = envelope.to_headers();
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let key = key.to_string();
        let record = Record { topic: &topic, key: key.as_bytes(), payload, headers: &headers };
        publisher.publish(record, token).unwrap();
    }
    for _ in messages {
        acks.next().await.unwrap().result.unwrap();
    }
}

/// The service's consumer.
fn listen(stage: &Stage, topics: &TestTopics) -> Background {
    let database = Database::clone(&stage.database);
    let names = Topics::clone(topics);
    let settings = stage.settings();
    let context = Context::<Payments> { database: database.clone(), topics: names.clone(), settings };
    let consumer = Payments::consumer(&context).unwrap();
    let runner =
        Runner::join(database, &topics.brokers(), &names, consumer, RunnerSettings::default()).unwrap();
    Background::run(|stop| async move { runner.run(stop).await })
}

#[tokio::test]
async fn redelivered_messages_charge_and_refund_nothing_more() {
    let (stage, topics) = (Stage::new().await, TestTopics::create().await);
    let (paid, abandoned) = (Order::new(), Order::new());
    let messages = [placed(paid), placed(abandoned), payment_requested(paid), payment_requested(abandoned)];
    let ends = [confirmed(paid, 3), cancelled(abandoned, 3)];
    let listener = listen(&stage, &topics);
    let worker = stage.worker(brisk());
    publish(&topics, &messages).await;
    stage.becomes(paid, "captured").await;
    stage.becomes(abandoned, "captured").await;
    publish(&topics, &ends).await;
    eventually("the refund", async || (stage.refunds(abandoned).await == ["succeeded"]).then_some(())).await;

    for _ in 0..3 {
        publish(&topics, &messages).await;
        publish(&topics, &ends).await;
    }
    // One more message of each order. When it is applied, the consumer has read all repetitions.
    publish(&topics, &[confirmed(paid, 4), cancelled(abandoned, 4)]).await;
    eventually("the last messages", async || {
        (stage.count("SELECT count(*) FROM inbox_sequence WHERE last_sequence = 4").await == 2).then_some(())
    })
    .await;
    stage.is_at_rest().await;
    worker.stop().await;
    listener.stop().await;
    assert_eq!(stage.processor.charges().len(), 2);
    assert_eq!(stage.processor.refunds().len(), 1);
    assert_eq!(stage.announced_types(paid).await, ["PaymentCaptured"]);
    assert_eq!(stage.announced_types(abandoned).await, ["PaymentCaptured", "PaymentRefunded"]);
    assert_eq!(stage.count("SELECT count(*) FROM inbox_parked").await, 0);
}

#[tokio::test]
async fn an_order_cancelled_before_its_payment_request_sends_no_charge() {
    let (stage, topics) = (Stage::new().await, TestTopics::create().await);
    let order = Order::new();
    // All messages are on the topic before the consumer starts, so they are one batch and one transaction.
    publish(&topics, &[placed(order), payment_requested(order), cancelled(order, 3)]).await;
    let listener = listen(&stage, &topics);
    eventually("the cancellation", async || {
        (stage.announced_types(order).await == ["PaymentCancelled"]).then_some(())
    })
    .await;
    listener.stop().await;
    stage.is_at_rest().await;
    assert_eq!(stage.state(order).await, "cancelled");
    assert_eq!(stage.text("SELECT DISTINCT traceparent FROM outbox_event").await, TRACEPARENT);
}

/// Runs `payments inbox WORDS --json`. Returns its output.
async fn inbox_command(stage: &Stage, topics: &TestTopics, words: &[&str]) -> Value {
    let words = ["inbox"].iter().chain(words).chain(&["--json"]);
    let settings = stage.settings();
    let (database, topics) = (Database::clone(&stage.database), Topics::clone(topics));
    let context = Context::<Payments> { database: database.clone(), topics: topics.clone(), settings };
    let (consumer, key_policy) = (Payments::consumer(&context), KeyPolicy::default());
    let context = Installation { database, topics, consumer, brokers: None, key_policy };
    let output = InboxCommand::try_parse_from(words).unwrap().run(&context).await.unwrap();
    assert!(output.done, "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

#[tokio::test]
async fn a_message_of_another_tenant_is_parked_and_its_discard_says_that_money_stays_taken() {
    let (stage, topics) = (Stage::new().await, TestTopics::create().await);
    let (order, bystander) = (Order::new(), Order::new());
    let listener = listen(&stage, &topics);
    let worker = stage.worker(brisk());
    publish(&topics, &[placed(order), payment_requested(order)]).await;
    stage.becomes(order, "captured").await;
    let mut foreign = cancelled(order, 3);
    foreign.envelope.tenant = "globex".parse().unwrap();
    publish(&topics, &[foreign, placed(bystander), payment_requested(bystander)]).await;
    stage.becomes(bystander, "captured").await;
    let parked = "SELECT count(*) FROM inbox_parked WHERE state = 'parked'";
    eventually("the parked message", async || (stage.count(parked).await == 1).then_some(())).await;
    listener.stop().await;
    worker.stop().await;
    assert!(stage.refunds(order).await.is_empty());

    let parked = inbox_command(&stage, &topics, &["parked"]).await;
    let message = &parked["messages"][0];
    let refusal = format!("order {} is not an order of globex", order.order);
    assert_eq!(message["error"], Value::String(refusal));
    let id = message["message_id"].as_str().unwrap();
    let discarded =
        inbox_command(&stage, &topics, &["discard", id, "--by", "kim", "--reason", "forged"]).await;
    let warning = discarded["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with(&format!("payment {} of order", order.payment)), "{warning}");
    assert!(warning.contains("stays captured"), "{warning}");
    assert!(stage.refunds(order).await.is_empty());
}
