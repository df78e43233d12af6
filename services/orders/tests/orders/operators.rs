//! The operators' commands `orders show` and `orders expire`.

use clap::Parser;
use diesel_async::RunQueryDsl;
use operators::{CommandOutput, OperatorCommand};
use orders::Orders;
use runtime::Service;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::{Bench, context, key};

/// Runs `orders WORDS`. Returns its output, and whether it is done.
async fn command(bench: &Bench, words: &[&str]) -> (String, bool) {
    #[derive(Parser)]
    struct CommandLine {
        #[command(subcommand)]
        command: <Orders as Service>::Command,
    }
    let line = CommandLine::try_parse_from(["orders"].iter().chain(words)).unwrap();
    let context = context(bench.database.second_instance());
    let CommandOutput { text, done } = line.command.run(&context).await.unwrap();
    (text, done)
}

async fn expire(bench: &Bench, order: &str, words: &[&str]) -> (String, bool) {
    let always = ["expire", order, "--by", "kim", "--reason", "the shop is closed"];
    command(bench, &[&always, words].concat()).await
}

async fn show(bench: &Bench, order: &str) -> Value {
    let (text, done) = command(bench, &["show", order, "--json"]).await;
    assert!(done, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn id_of(order: &Value) -> String {
    order["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_expires_an_open_order_once_with_a_fact_and_its_cause_in_the_timeline() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = id_of(&bench.placed("acme").await);
    let (text, done) = expire(&bench, &order, &["--dry-run"]).await;
    assert!(done && text.contains("dry run") && text.contains("is cancelled as expired"), "{text}");
    assert_eq!(show(&bench, &order).await["status"], "pending");

    let (text, done) = expire(&bench, &order, &[]).await;
    assert!(done && text.contains("is cancelled as expired"), "{text}");
    let (text, done) = expire(&bench, &order, &[]).await;
    assert!(done && text.ends_with("is cancelled already\n"), "{text}");
    let shown = show(&bench, &order).await;
    assert_eq!((&shown["status"], &shown["tenant"]), (&json!("cancelled"), &json!("acme")));
    let timeline = shown["timeline"].as_array().unwrap();
    let what: Vec<_> = timeline.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["OrderPlaced", "OrderCancelled"]);
    assert!(timeline[1]["cause"].as_str().unwrap().ends_with("by @operator:kim"), "{shown}");
    let facts = "SELECT count(*) FROM audit_fact JOIN order_timeline ON cause_id = operation_id \
                  WHERE action = 'order.expire' AND actor = '@operator:kim' AND details ->> 'reason' = 'the shop is closed'";
    assert_eq!(bench.count(facts).await, 1);
    let events = "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1'";
    assert_eq!(bench.count(events).await, 1);
    let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
    assert_eq!(read["cancellation"]["reason"], "expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_the_customer_cancelled_keeps_its_reason_and_an_unknown_order_is_named() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = id_of(&bench.placed("acme").await);
    let cancel = json!({ "reason": "changed my mind" });
    let cancelled = bench.post("acme", &format!("/v1/orders/{order}/cancel"), &key(), &cancel).send().await;
    assert_eq!(cancelled.unwrap().status(), 200);
    let (text, done) = expire(&bench, &order, &[]).await;
    assert!(done && text.ends_with("is cancelled already\n"), "{text}");
    assert_eq!(bench.count("SELECT count(*) FROM orders WHERE cancel_reason = 'customer'").await, 1);
    assert_eq!(bench.count("SELECT count(*) FROM audit_fact WHERE action = 'order.expire'").await, 0);

    let unknown = Uuid::now_v7().to_string();
    for (text, done) in [expire(&bench, &unknown, &[]).await, command(&bench, &["show", &unknown]).await] {
        assert_eq!((text, done), (format!("there is no order {unknown}\n"), false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_order_is_not_expired() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = id_of(&bench.placed("acme").await);
    let confirm = "UPDATE orders SET state = 'confirmed', payment_id = gen_random_uuid()";
    let mut owner = bench.database.owner().await;
    assert_eq!(diesel::sql_query(confirm).execute(&mut owner).await.unwrap(), 1);
    let (text, done) = expire(&bench, &order, &[]).await;
    assert!(!done && text.contains("is confirmed and stays so"), "{text}");
    let shown = show(&bench, &order).await;
    assert_eq!(shown["status"], "confirmed");
    assert_eq!(show(&bench, shown["payment_id"].as_str().unwrap()).await, shown, "found by its payment");
}
