//! A parked message: it changes nothing, and its discard warns of the consequences.

use clap::Parser;
use contracts::events::{CancelReason, OrderCancelled};
use contracts::{OrderId, Topics};
use inbox::operator::{Command, CommandOutput, OperatorContext, run};
use inventory::Inventory;
use runtime::Service;
use serde_json::{Value, json};
use testkit::eventually;

use crate::orders::{Orders, Published, placed};
use crate::stage::Stage;

/// Runs `inventory inbox WORDS --json`. Returns its output.
async fn inbox_command(stage: &Stage, words: &[&str]) -> Value {
    let words = ["inbox"].iter().chain(words).chain(&["--json"]);
    let context = OperatorContext {
        database: stage.instance.clone(),
        topics: Topics::with_prefix(""),
        consumer: Inventory::consumer(&stage.context()).unwrap(),
        brokers: None,
    };
    let CommandOutput { text, done } = run(Command::try_parse_from(words).unwrap(), &context).await.unwrap();
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
    assert_eq!(client.stock_of("a").await, (5, 3));
}
