//! Parked messages: they change nothing, and their discard warns of the consequences.

use clap::Parser;
use contracts::events::{ItemChanged, PaymentCaptured, StockReserved};
use contracts::{Currency, ItemId, Money, OrderId, PaymentId};
use envelope::Topics;
use idempotency::KeyPolicy;
use operators::{InboxCommand, Installation, OperatorCommand};
use orders::Orders;
use runtime::Service;
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::bench::{Bench, context};
use crate::peers::Peers;

/// Runs `orders inbox WORDS --json`. Returns its output.
async fn inbox_command(bench: &Bench, words: &[&str]) -> Value {
    let words = ["inbox"].iter().chain(words).chain(&["--json"]);
    let database = bench.database.second_instance();
    let consumer = Orders::consumer(&context(database.clone()));
    let (topics, key_policy) = (Topics::of("test"), KeyPolicy::default());
    let context = Installation { database, topics, consumer, brokers: None, key_policy };
    let output = InboxCommand::try_parse_from(words).unwrap().run(&context).await.unwrap();
    assert!(output.done, "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

fn id_of(order: &Value) -> OrderId {
    order["id"].as_str().unwrap().parse::<Uuid>().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_tenant_is_parked_and_its_discard_says_that_the_order_stays_open() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let (order, bystander) = (id_of(&bench.placed("acme").await), id_of(&bench.placed("acme").await));
    let (sku, name) = ("TEA".parse().unwrap(), "Tea of others".to_owned());
    let item = ItemId::of(&"acme".parse().unwrap(), &sku);
    let unit_price = Money::new(1, Currency::Eur);
    peers.publish_for("globex", &StockReserved { order }).await;
    peers.publish_for("globex", &ItemChanged { item, sku, name, unit_price, version: 9 }).await;
    peers.publish(&StockReserved { order: bystander }).await;
    eventually("both messages parked, and the bystander on its way", async || {
        let parked = bench.count("SELECT count(*) FROM inbox_parked WHERE state = 'parked'").await;
        let moved = bench.count("SELECT count(*) FROM orders WHERE state = 'awaiting_payment'").await;
        (parked == 2 && moved == 1).then_some(())
    })
    .await;
    peers.stop().await;
    let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
    assert_eq!(read["status"], "pending", "{read:#}");
    assert_eq!(bench.count("SELECT count(*) FROM catalogue_item WHERE version = 9").await, 0);

    let parked = inbox_command(&bench, &["parked", "--aggregate", &order.to_string()]).await;
    let message = &parked["messages"][0];
    assert_eq!(message["error"], json!("there is no such order"));
    let id = message["message_id"].as_str().unwrap();
    let discarded = inbox_command(&bench, &["discard", id, "--by", "kim", "--reason", "forged"]).await;
    let warning = discarded["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with(&format!("order {order} stays open")), "{warning}");
}

/// Each order but the last gets a capture that it did not request: another payment, amount or currency. The error is what a person
/// reviews, so it names both.
#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_the_order_did_not_request_is_parked_and_confirms_nothing() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let mut orders = Vec::new();
    for _ in 0..4 {
        let order = id_of(&bench.placed("acme").await);
        peers.publish(&StockReserved { order }).await;
        orders.push(order);
    }
    let awaiting = "SELECT count(*) FROM orders WHERE state = 'awaiting_payment'";
    eventually("payments are requested", async || (bench.count(awaiting).await == 4).then_some(())).await;
    let requested = Money::new(900, Currency::Eur);
    let mut errors = Vec::new();
    for (number, order) in orders.iter().enumerate() {
        let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
        let own: PaymentId = read["payment_id"].as_str().unwrap().parse::<Uuid>().unwrap().into();
        let (payment, amount) = match number {
            0 => (PaymentId::generate(), requested),
            1 => (own, Money::new(899, Currency::Eur)),
            2 => (own, Money::new(900, Currency::Usd)),
            _ => (own, requested),
        };
        peers.publish(&PaymentCaptured { payment, order: Some(*order), amount }).await;
        let asked = format!("but order {order} requested 9.00 EUR by payment {own}");
        errors.push(format!("payment {payment} captured {amount}, {asked}"));
    }
    eventually("three captures parked, and one order confirmed", async || {
        let parked = bench.count("SELECT count(*) FROM inbox_parked WHERE state = 'parked'").await;
        let confirmed = bench.count("SELECT count(*) FROM orders WHERE state = 'confirmed'").await;
        (parked == 3 && confirmed == 1).then_some(())
    })
    .await;
    assert_eq!(bench.count(awaiting).await, 3);
    peers.stop().await;
    let parked = inbox_command(&bench, &["parked"]).await;
    let parked: Vec<&str> = parked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["error"].as_str().unwrap())
        .collect();
    assert!(errors[..3].iter().all(|error| parked.contains(&error.as_str())), "{parked:#?}");
}
