//! A parked message: it changes nothing, and its discard warns of the consequences.

use clap::Parser;
use contracts::OrderId;
use contracts::events::{CancelReason, OrderCancelled};
use envelope::Topics;
use idempotency::KeyPolicy;
use inventory::Inventory;
use operators::{CommandOutput, InboxCommand, Installation, OperatorCommand};
use runtime::Service;
use serde_json::{Value, json};
use testkit::eventually;

use crate::orders::{Orders, Published, placed};
use crate::stage::{Stage, tenant};

/// Runs `inventory inbox WORDS --json`. Returns its output.
async fn inbox_command(stage: &Stage, words: &[&str]) -> Value {
    let words = ["inbox"].iter().chain(words).chain(&["--json"]);
    let context = Installation {
        database: stage.instance.clone(),
        topics: Topics::of("test"),
        consumer: Inventory::consumer(&stage.context()),
        brokers: None,
        key_policy: KeyPolicy::default(),
    };
    let command = InboxCommand::try_parse_from(words).unwrap();
    let CommandOutput { text, done } = command.run(&context).await.unwrap();
    assert!(done, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[actix_web::test]
async fn a_message_of_another_tenant_is_parked_and_its_discard_says_that_stock_stays_held() {
    let stage = Stage::new().await;
    let mut orders = Orders::on_partitions(1).await;
    let listener = orders.listen(&stage);
    let client = stage.client();
    client.stock("a", 5).await;
    let (order, bystander) = (OrderId::generate(), OrderId::generate());
    let foreign = Published::by(
        "globex".parse().unwrap(),
        2,
        &OrderCancelled { order, reason: CancelReason::Customer },
    );
    orders.publish(&[placed(order, &[("a", 2)]), foreign, placed(bystander, &[("a", 1)])]).await;
    eventually("the bystander's reservation", async || {
        (stage.announced(bystander.uuid()).await.len() == 1).then_some(())
    })
    .await;
    listener.stop().await;
    assert_eq!(client.stock_of("a").await, (5, 3));
    let parked = inbox_command(&stage, &["parked"]).await;
    let [message] = &parked["messages"].as_array().unwrap()[..] else { panic!("{parked:#}") };
    assert_eq!(message["error"], json!(format!("order {order} is not an order of globex")));

    let id = message["message_id"].as_str().unwrap();
    let discarded = inbox_command(&stage, &["discard", id, "--by", "kim", "--reason", "forged"]).await;
    let warning = discarded["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with(&format!("the reservation of order {order} stays held")), "{warning}");
    let (text, done) = release(&stage, order, &[]).await;
    assert!(
        !done && text.contains("may still be shipped"),
        "the discarded message was of another tenant: {text}"
    );
    assert_eq!(client.stock_of("a").await, (5, 3));
}

#[actix_web::test]
async fn the_stock_of_a_cancelled_order_whose_cancellation_was_discarded_is_released_once() {
    let stage = Stage::new().await;
    let mut orders = Orders::on_partitions(1).await;
    let listener = orders.listen(&stage);
    let client = stage.client();
    client.stock("a", 5).await;
    let order = OrderId::generate();
    orders.publish(&[placed(order, &[("a", 2)])]).await;
    eventually("the reservation", async || (stage.announced(order.uuid()).await.len() == 1).then_some(()))
        .await;
    let (text, done) = release(&stage, order, &[]).await;
    assert!(!done && text.contains("may still be shipped"), "{text}");

    // Wrong stock, so that the cancellation cannot be applied.
    stage.as_owner("UPDATE item SET reserved = 0").await;
    let cancelled = OrderCancelled { order, reason: CancelReason::Customer };
    orders.publish(&[Published::by(tenant(), 2, &cancelled)]).await;
    eventually("the parked cancellation", async || {
        (stage.count("SELECT count(*) FROM inbox_parked WHERE state = 'parked'").await == 1).then_some(())
    })
    .await;
    listener.stop().await;
    let parked = inbox_command(&stage, &["parked"]).await;
    let id = parked["messages"][0]["message_id"].as_str().unwrap();
    let discarded = inbox_command(&stage, &["discard", id, "--by", "kim", "--reason", "wrong stock"]).await;
    let warning = discarded["warnings"][0].as_str().unwrap();
    assert!(warning.ends_with(&format!("inventory release {order}")), "{warning}");
    stage.as_owner("UPDATE item SET reserved = 2").await;

    let (text, done) = release(&stage, order, &["--dry-run"]).await;
    assert!(done && text.contains("dry run") && text.contains("is released"), "{text}");
    assert_eq!(client.stock_of("a").await, (5, 2));
    for expected in ["is released\n", "is released already\n"] {
        let (text, done) = release(&stage, order, &[]).await;
        assert!(done && text.ends_with(expected), "{text}");
        assert_eq!(client.stock_of("a").await, (5, 0));
        assert_eq!(stage.announced(order.uuid()).await.len(), 2, "StockReleased is announced once");
    }
    let facts =
        "SELECT count(*) FROM audit_fact WHERE action = 'reservation.release' AND actor = '@operator:kim'";
    assert_eq!(stage.count(facts).await, 1);
}

/// Runs `inventory release ORDER` as kim. Returns its output, and whether it is done.
async fn release(stage: &Stage, order: OrderId, words: &[&str]) -> (String, bool) {
    #[derive(Parser)]
    struct CommandLine {
        #[command(subcommand)]
        command: <Inventory as Service>::Command,
    }
    let order = order.to_string();
    let always =
        ["inventory", "release", &order, "--by", "kim", "--reason", "its cancellation was discarded"];
    let line = CommandLine::try_parse_from(always.iter().chain(words)).unwrap();
    let CommandOutput { text, done } = line.command.run(&stage.context()).await.unwrap();
    (text, done)
}
