//! Parked messages: they change nothing, and their discard warns of the consequences.

use clap::Parser;
use contracts::events::{ItemChanged, StockReserved};
use contracts::{Currency, ItemId, Money, OrderId};
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
pub(crate) async fn inbox_command(bench: &Bench, words: &[&str]) -> Value {
    let words = ["inbox"].iter().chain(words).chain(&["--json"]);
    let database = bench.database.second_instance();
    let consumer = Orders::consumer(&context(database.clone()));
    let (topics, key_policy) = (Topics::of("test"), KeyPolicy::default());
    let context = Installation { database, topics, consumer, brokers: None, key_policy };
    let output = InboxCommand::try_parse_from(words).unwrap().run(&context).await.unwrap();
    assert!(output.done, "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

pub(crate) fn id_of(order: &Value) -> OrderId {
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
