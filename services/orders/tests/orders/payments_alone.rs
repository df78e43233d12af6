//! Events of payments without an order: `orders` receives them and changes nothing.

use contracts::events::{PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefunded};
use contracts::{Currency, Money, PaymentId, RefundId};
use testkit::eventually;

use crate::bench::Bench;
use crate::peers::Peers;

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
    let read: serde_json::Value = bench.get("acme", &path).await.json().await.unwrap();
    assert_eq!(read, placed);
}
