//! The timeline of an order, over HTTP.

use contracts::events::{PaymentCaptured, StockRejected, StockReleased, StockReserved, StockShipped};
use contracts::{Currency, Money, OrderId};
use serde_json::{Value, json};
use testkit::{eventually, identity};

use crate::bench::{Bench, key, order, problem};
use crate::parked::id_of;
use crate::payments::payment_of;
use crate::peers::Peers;

async fn timeline(bench: &Bench, order: OrderId) -> Vec<Value> {
    let response = bench.get("acme", &format!("/v1/orders/{order}/timeline")).await;
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["order_id"], json!(order));
    body["entries"].as_array().unwrap().clone()
}

/// Waits for this number of entries and compares them: what, state, and the cause's kind and origin.
pub(crate) async fn entries(bench: &Bench, order: OrderId, expected: &[[&str; 4]]) -> Vec<Value> {
    let entries = eventually("the entries of a timeline", async || {
        let entries = timeline(bench, order).await;
        (entries.len() >= expected.len()).then_some(entries)
    })
    .await;
    let listed: Vec<Value> = entries
        .iter()
        .map(|entry| json!([entry["what"], entry["state"], entry["cause"]["kind"], entry["cause"]["by"]]))
        .collect();
    assert_eq!(json!(listed), json!(expected));
    let sequences: Vec<i64> = entries.iter().map(|entry| entry["sequence"].as_i64().unwrap()).collect();
    assert_eq!(sequences, (1..).take(entries.len()).collect::<Vec<i64>>());
    assert!(entries.is_sorted_by_key(|entry| entry["at"].as_str().unwrap()), "{entries:?}");
    entries
}

/// Waits until a timeline has this number of entries. Other services answer an event after they have received it.
pub(crate) async fn reaches(bench: &Bench, order: OrderId, entries: usize) {
    let what = format!("a timeline has {entries} entries");
    eventually(&what, async || (timeline(bench, order).await.len() == entries).then_some(())).await;
}

fn cause(entry: &Value) -> &str {
    entry["cause"]["id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeline_shows_each_step_with_its_cause() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let placed = bench.placed("acme").await;
    let order = id_of(&placed);
    let first = entries(&bench, order, &[["OrderPlaced", "pending", "request", "shop"]]).await;
    assert_eq!(first[0]["at"], placed["placed_at"]);
    let operation = "SELECT count(*) FROM audit_fact f JOIN order_timeline t ON t.cause_id = f.operation_id \
                     WHERE f.action = 'order.place' AND f.subject_id = t.order_id::text";
    assert_eq!(bench.count(operation).await, 1);

    let reserved = peers.publish(&StockReserved { order }).await;
    reaches(&bench, order, 3).await;
    let payment = payment_of(&bench, order).await;
    let captured = PaymentCaptured { payment, order: Some(order), amount: Money::new(900, Currency::Eur) };
    let captured = peers.publish(&captured).await;
    reaches(&bench, order, 5).await;
    let shipped = peers.publish(&StockShipped { order }).await;
    let entries = entries(
        &bench,
        order,
        &[
            ["OrderPlaced", "pending", "request", "shop"],
            ["StockReserved", "awaiting_payment", "message", "inventory"],
            ["PaymentRequested", "awaiting_payment", "message", "inventory"],
            ["PaymentCaptured", "confirmed", "message", "payments"],
            ["OrderConfirmed", "confirmed", "message", "payments"],
            ["StockShipped", "confirmed", "message", "inventory"],
        ],
    )
    .await;
    let causes: Vec<&str> = entries[1..].iter().map(cause).collect();
    assert_eq!(causes, [&reserved, &reserved, &captured, &captured, &shipped]);
    let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
    assert_eq!(entries[4]["at"], read["updated_at"]);
    peers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_reserved_after_the_cancellation_is_in_the_timeline() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let order = id_of(&bench.placed("acme").await);
    let path = format!("/v1/orders/{order}/cancel");
    let reason = json!({"reason": "changed my mind"});
    // The second cancellation changes nothing, so it has no entry.
    for _ in 0..2 {
        assert_eq!(bench.post("acme", &path, &key(), &reason).send().await.unwrap().status(), 200);
    }
    peers.publish(&StockReserved { order }).await;
    peers.publish(&StockReleased { order }).await;
    entries(
        &bench,
        order,
        &[
            ["OrderPlaced", "pending", "request", "shop"],
            ["OrderCancelled", "cancelled", "request", "shop"],
            ["StockReserved", "cancelled", "message", "inventory"],
            ["StockReleased", "cancelled", "message", "inventory"],
        ],
    )
    .await;
    assert_eq!(bench.count("SELECT count(*) FROM outbox_event").await, 2);
    peers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_order_says_so_in_its_timeline() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let order = id_of(&bench.placed("acme").await);
    peers.publish(&StockRejected { order, missing: vec!["TEA".parse().unwrap()] }).await;
    entries(
        &bench,
        order,
        &[
            ["OrderPlaced", "pending", "request", "shop"],
            ["StockRejected", "cancelled", "message", "inventory"],
            ["OrderCancelled", "cancelled", "message", "inventory"],
        ],
    )
    .await;
    peers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_timeline_is_404_like_an_unknown_one() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let path = format!("/v1/orders/{}/timeline", id_of(&bench.placed("acme").await));
    let never = "/v1/orders/00000000-0000-7000-8000-000000000000/timeline";
    let foreign = bench.get("rival", &path).await.text().await.unwrap();
    let absent = bench.get("rival", never).await.text().await.unwrap();
    assert_eq!(foreign, absent);
    assert_eq!(problem(bench.get("rival", &path).await, 404).await, "not-found");
    assert_eq!(problem(bench.get("acme", "/v1/orders/no-order/timeline").await, 404).await, "not-found");
    let writer = identity::token("acme", "shop", "orders:write");
    assert_eq!(problem(bench.read(&writer, &path).send().await.unwrap(), 403).await, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_request_leaves_no_timeline_and_the_service_cannot_change_one() {
    use diesel_async::SimpleAsyncConnection;
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut dear = order("TEA");
    dear["expected_total"] = json!({"amount": 1, "currency": "EUR"});
    assert_eq!(problem(bench.place("acme", &key(), &dear).await, 422).await, "price-changed");
    assert_eq!(bench.count("SELECT count(*) FROM order_timeline").await, 0);
    bench.placed("acme").await;
    let mut service = bench.database.connection().await.unwrap();
    for statement in ["UPDATE order_timeline SET state = 'confirmed'", "DELETE FROM order_timeline"] {
        let refused = service.batch_execute(statement).await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{refused}");
    }
}
