//! The events of payments: those that come too late, say something else than the order requested, or concern no order.

use contracts::events::{
    PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefundFailed, PaymentRefunded, StockReleased,
    StockReserved,
};
use contracts::{Currency, Money, OrderId, PaymentId, RefundId};
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::bench::{Bench, key};
use crate::parked::{id_of, inbox_command};
use crate::peers::Peers;
use crate::timeline::{entries, reaches};

/// The payment that the order has requested.
pub(crate) async fn payment_of(bench: &Bench, order: OrderId) -> PaymentId {
    let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
    read["payment_id"].as_str().unwrap().parse::<Uuid>().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_payment_without_an_order_are_consumed_and_change_nothing() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let placed = bench.placed("acme").await;
    let (amount, refund) = (Money::new(900, Currency::Eur), RefundId::generate());
    let [payment, declined, cancelled] = [(); 3].map(|()| PaymentId::generate());
    peers.publish(&PaymentCaptured { payment, order: None, amount }).await;
    peers.publish(&PaymentRefunded { payment, order: None, refund, amount }).await;
    peers.publish(&PaymentDeclined { payment: declined, order: None, code: "expired_card".to_owned() }).await;
    peers.publish(&PaymentCancelled { payment: cancelled, order: None }).await;
    eventually("all four are received", async || {
        (bench.count("SELECT count(*) FROM inbox_message").await == 4).then_some(())
    })
    .await;
    peers.stop().await;

    assert_eq!(bench.count("SELECT sum(last_sequence)::bigint AS count FROM inbox_sequence").await, 4);
    assert_eq!(bench.count("SELECT count(*) FROM inbox_parked").await, 0);
    assert_eq!(bench.count("SELECT count(*) FROM outbox_event").await, 1, "the order's own");
    assert_eq!(bench.count("SELECT count(*) FROM order_timeline").await, 1);
    let path = format!("/v1/orders/{}", placed["id"].as_str().unwrap());
    let read: Value = bench.get("acme", &path).await.json().await.unwrap();
    assert_eq!(read, placed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_about_an_ended_order_changes_nothing_and_is_in_its_timeline() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::of(&bench).await;
    let order = id_of(&bench.placed("acme").await);
    peers.publish(&StockReserved { order }).await;
    reaches(&bench, order, 3).await;
    let reason = json!({"reason": "changed my mind"});
    let cancel = bench.post("acme", &format!("/v1/orders/{order}/cancel"), &key(), &reason);
    let cancelled: Value = cancel.send().await.unwrap().json().await.unwrap();
    assert_eq!(cancelled["status"], "cancelled");

    let (payment, amount) = (payment_of(&bench, order).await, Money::new(900, Currency::Eur));
    peers.publish(&PaymentCaptured { payment, order: Some(order), amount }).await;
    peers
        .publish(&PaymentRefunded { payment, order: Some(order), refund: RefundId::generate(), amount })
        .await;
    let (order_of, refund, code) = (Some(order), RefundId::generate(), "lost_or_stolen_card".to_owned());
    peers.publish(&PaymentRefundFailed { payment, order: order_of, refund, amount, code }).await;
    reaches(&bench, order, 7).await;
    peers.publish(&StockReleased { order }).await;
    entries(
        &bench,
        order,
        &[
            ["OrderPlaced", "pending", "request", "shop"],
            ["StockReserved", "awaiting_payment", "message", "inventory"],
            ["PaymentRequested", "awaiting_payment", "message", "inventory"],
            ["OrderCancelled", "cancelled", "request", "shop"],
            ["PaymentCaptured", "cancelled", "message", "payments"],
            ["PaymentRefunded", "cancelled", "message", "payments"],
            ["PaymentRefundFailed", "cancelled", "message", "payments"],
            ["StockReleased", "cancelled", "message", "inventory"],
        ],
    )
    .await;
    let read: Value = bench.get("acme", &format!("/v1/orders/{order}")).await.json().await.unwrap();
    assert_eq!(read, cancelled);
    peers.stop().await;
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
