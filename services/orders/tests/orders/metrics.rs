//! The metrics of orders: each is moved by a request that must move it, and by no other.

use metrics::Readings;
use orders::{Orders, OrdersMetrics};
use runtime::Service;
use serde_json::json;
use testkit::{Metrics, labelled};

use crate::bench::{Bench, key, order};

/// The gauges that a scrape reads.
async fn read(bench: &Bench) -> Metrics {
    let (connection, mut readings) = (bench.database.connection().await.unwrap(), Readings::default());
    Orders::read_metrics(&connection, &mut readings).await.unwrap();
    Metrics::read(&readings)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_counted_at_each_state_and_is_open_until_it_ends() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let reached = || Metrics::counted::<OrdersMetrics>(&bench.database).by_label("orders_reached_total");
    let unknown_item = bench.place("acme", &key(), &order("SAND")).await;
    assert_eq!(unknown_item.status(), 422);
    assert_eq!(reached(), [], "no order was placed");
    assert_eq!(read(&bench).await.count("orders_oldest_open_seconds"), 0);

    let placed = bench.placed("acme").await;
    assert_eq!(reached(), labelled(&[("pending", 1)]));
    let open = read(&bench).await;
    assert_eq!(open.by_label("orders_open"), labelled(&[("pending", 1)]));
    assert!(open.measure("orders_oldest_open_seconds") > 0.0);

    let path = format!("/v1/orders/{}/cancel", placed["id"].as_str().unwrap());
    for _ in 0..2 {
        let cancelled =
            bench.post("acme", &path, &key(), &json!({ "reason": "changed my mind" })).send().await;
        assert_eq!(cancelled.unwrap().status(), 200);
    }
    assert_eq!(
        reached(),
        labelled(&[("cancelled", 1), ("pending", 1)]),
        "the second request changed nothing"
    );
    assert_eq!(read(&bench).await.by_label("orders_open"), []);
}
