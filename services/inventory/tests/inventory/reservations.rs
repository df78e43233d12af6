//! The stock of an order, from its first event to its last, over Kafka.

use contracts::OrderId;
use contracts::events::OrderPlaced;
use contracts::{Currency, Money};
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::orders::{Listener, Orders, Published, cancelled, confirmed, payment_requested, placed};
use crate::stage::Stage;

/// Starts a service that consumes a topic with one partition.
async fn listening() -> (Stage, Orders, Listener) {
    let stage = Stage::new().await;
    let orders = Orders::on_partitions(1).await;
    let listener = orders.listen(&stage);
    (stage, orders, listener)
}

/// Waits until the service has announced this number of events about the order's stock. `expected` has their types,
/// without service and version.
async fn announced(stage: &Stage, order: OrderId, expected: &[&str]) -> Vec<Value> {
    let events = eventually("the events about an order", async || {
        let events = stage.announced(order.uuid()).await;
        (events.len() >= expected.len()).then_some(events)
    })
    .await;
    let names: Vec<String> = events.iter().map(|(_, kind, _)| kind.clone()).collect();
    let expected: Vec<String> = expected.iter().map(|name| format!("inventory.{name}.v1")).collect();
    assert_eq!(names, expected);
    let sequences: Vec<i64> = events.iter().map(|(sequence, ..)| *sequence).collect();
    assert_eq!(sequences, (1..).take(events.len()).collect::<Vec<i64>>());
    events.into_iter().map(|(.., data)| data).collect()
}

#[actix_web::test]
async fn a_paid_order_is_reserved_and_shipped() {
    let (stage, mut orders, listener) = listening().await;
    let client = stage.client();
    client.stock("a", 5).await;
    client.stock("b", 5).await;
    let order = OrderId::generate();
    let path = format!("/v1/reservations/{order}");

    orders.publish(&[placed(order, &[("b", 1), ("a", 2)]), payment_requested(order)]).await;
    assert_eq!(announced(&stage, order, &["StockReserved"]).await, [json!({"order": order})]);
    assert_eq!((client.stock_of("a").await, client.stock_of("b").await), ((5, 2), (5, 1)));
    let lines = json!([{"sku": "a", "quantity": 2}, {"sku": "b", "quantity": 1}]);
    let held = client.get(&path).await;
    assert_eq!(held.body, json!({"order_id": order, "status": "held", "lines": lines, "version": 1}));
    assert_eq!(held.header("etag"), Some("\"1\""));
    assert_eq!(client.get_unless("\"1\"", &path).await.status, 304);

    orders.publish(&[confirmed(order, 3)]).await;
    announced(&stage, order, &["StockReserved", "StockShipped"]).await;
    assert_eq!((client.stock_of("a").await, client.stock_of("b").await), ((3, 0), (4, 0)));
    let shipped = client.get_unless("\"1\"", &path).await;
    assert_eq!((shipped.status, shipped.header("etag")), (200, Some("\"2\"")));
    assert_eq!(shipped.body["status"], "shipped");
    assert_eq!(stage.unbalanced_items().await, 0);
    listener.stop().await;
}

#[actix_web::test]
async fn a_cancelled_order_gives_its_stock_back() {
    let (stage, mut orders, listener) = listening().await;
    stage.client().stock("a", 5).await;
    let order = OrderId::generate();
    orders.publish(&[placed(order, &[("a", 2)]), cancelled(order, 2)]).await;
    announced(&stage, order, &["StockReserved", "StockReleased"]).await;
    assert_eq!(stage.client().stock_of("a").await, (5, 0));
    assert_eq!(stage.client().get(&format!("/v1/reservations/{order}")).await.body["status"], "released");
    assert_eq!(stage.unbalanced_items().await, 0);
    listener.stop().await;
}

#[actix_web::test]
async fn an_order_is_reserved_as_a_whole_or_not_at_all() {
    let (stage, mut orders, listener) = listening().await;
    let client = stage.client();
    client.stock("a", 5).await;
    client.stock("b", 1).await;
    let order = OrderId::generate();
    // It is cancelled after the refusal; nothing is held, so nothing is released.
    orders.publish(&[placed(order, &[("a", 2), ("b", 2), ("c", 1)]), cancelled(order, 2)]).await;
    let next = OrderId::generate();
    orders.publish(&[placed(next, &[("a", 5), ("b", 1)])]).await;
    announced(&stage, next, &["StockReserved"]).await;
    assert_eq!(
        announced(&stage, order, &["StockRejected"]).await,
        [json!({"order": order, "missing": ["b", "c"]})]
    );
    assert_eq!(client.get(&format!("/v1/reservations/{order}")).await.status, 404);
    assert_eq!((client.stock_of("a").await, client.stock_of("b").await), ((5, 5), (1, 1)));
    listener.stop().await;
}

#[actix_web::test]
async fn a_repeated_message_changes_nothing() {
    let (stage, mut orders, listener) = listening().await;
    stage.client().stock("a", 9).await;
    let (shipped, released) = (OrderId::generate(), OrderId::generate());
    let history = [
        placed(shipped, &[("a", 2)]),
        placed(released, &[("a", 3)]),
        payment_requested(shipped),
        cancelled(released, 2),
        confirmed(shipped, 3),
    ];
    orders.publish(&history).await;
    // Publishes the same message again, and then new messages with the same content.
    orders.publish(&history).await;
    orders
        .publish(&[
            cancelled(released, 3),
            cancelled(released, 4),
            cancelled(shipped, 4),
            confirmed(shipped, 5),
        ])
        .await;
    let last = OrderId::generate();
    orders.publish(&[placed(last, &[("a", 1)])]).await;
    announced(&stage, last, &["StockReserved"]).await;

    announced(&stage, shipped, &["StockReserved", "StockShipped"]).await;
    announced(&stage, released, &["StockReserved", "StockReleased"]).await;
    assert_eq!(stage.client().stock_of("a").await, (7, 1));
    assert_eq!(stage.count("SELECT count(*) FROM stock_movement WHERE kind = 'shipment'").await, 1);
    assert_eq!(stage.count("SELECT count(*) FROM inbox_parked").await, 0);
    assert_eq!(stage.unbalanced_items().await, 0);
    listener.stop().await;
}

#[actix_web::test]
async fn a_message_that_contradicts_the_reservation_is_parked() {
    let (stage, mut orders, listener) = listening().await;
    stage.client().stock("a", 5).await;
    let (never_reserved, without_lines, fine) =
        (OrderId::generate(), OrderId::generate(), OrderId::generate());
    orders
        .publish(&[confirmed(never_reserved, 1), placed(without_lines, &[]), placed(fine, &[("a", 1)])])
        .await;
    announced(&stage, fine, &["StockReserved"]).await;
    let parked = "SELECT count(*) FROM inbox_parked WHERE state = 'parked'";
    assert_eq!(stage.count(parked).await, 2);
    for order in [never_reserved, without_lines] {
        assert_eq!(stage.announced(order.uuid()).await, []);
    }
    assert_eq!(stage.client().stock_of("a").await, (5, 1));
    listener.stop().await;
}

#[actix_web::test]
async fn a_reservation_belongs_to_its_tenant() {
    let (stage, mut orders, listener) = listening().await;
    let (ours, theirs) = (stage.client(), stage.client_of("globex", "inventory:read inventory:write"));
    ours.stock("a", 5).await;
    theirs.stock("a", 5).await;
    let order = OrderId::generate();
    orders.publish(&[placed(order, &[("a", 2)])]).await;
    announced(&stage, order, &["StockReserved"]).await;
    assert_eq!(theirs.get(&format!("/v1/reservations/{order}")).await.status, 404);
    assert_eq!((ours.stock_of("a").await, theirs.stock_of("a").await), ((5, 2), (5, 0)));

    let lines = vec![contracts::events::OrderLine { sku: "b".parse().unwrap(), quantity: 1 }];
    let event = OrderPlaced { order: Uuid::now_v7().into(), lines, total: Money::new(1, Currency::Eur) };
    ours.stock("b", 5).await;
    orders.publish(&[Published::by("globex".parse().unwrap(), 1, &event)]).await;
    announced(&stage, event.order, &["StockRejected"]).await;
    assert_eq!(ours.stock_of("b").await, (5, 0));
    listener.stop().await;
}

#[actix_web::test]
async fn adjustments_do_not_take_reserved_stock() {
    let (stage, mut orders, listener) = listening().await;
    let client = stage.client();
    client.stock("a", 5).await;
    let order = OrderId::generate();
    orders.publish(&[placed(order, &[("a", 3)])]).await;
    announced(&stage, order, &["StockReserved"]).await;
    let refused = client.adjust("a", json!({"delta": -3, "reason": "x"})).await;
    assert_eq!((refused.status, refused.code()), (409, "stock-insufficient"));
    let adjusted = client.adjust("a", json!({"delta": -2, "reason": "x"})).await;
    assert_eq!((&adjusted.body["on_hand"], &adjusted.body["reserved"]), (&json!(3), &json!(3)));
    listener.stop().await;
}
