//! The keys that the edge refuses are counted by reason. No executor sees them.

use database::Database;
use idempotency::IdempotencyMetrics;
use reqwest::Method;
use testkit::{Metrics, labelled};

use crate::bench::{Bench, json_body, key, order, send, shop_database};

/// The counted refusals of keys, and the counted requests with a key.
fn counted(database: &Database) -> [Vec<(String, i64)>; 2] {
    let metrics = Metrics::counted::<IdempotencyMetrics>(database);
    ["idempotency_refused_keys_total", "idempotency_requests_total"].map(|family| metrics.by_label(family))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_edge_refuses_is_counted_by_reason_and_as_no_request_with_a_key() {
    let database = shop_database().await;
    // The handle of the edge, because metrics belong to the handle.
    let instance = Database::clone(&database);
    let bench = Bench::on(database, instance.clone(), |_| {});
    bench.place(&key(), "{").await.refuses(400, "request-invalid");
    assert_eq!(counted(&instance), [labelled(&[]), labelled(&[])], "its body is refused, not its key");
    let without = json_body(bench.request(Method::POST, "/v1/orders"), order(1));
    send(without).await.refuses(400, "idempotency-key-missing");
    assert_eq!(counted(&instance), [labelled(&[("missing", 1)]), labelled(&[])]);
    bench.place("short", order(1)).await.refuses(400, "idempotency-key-invalid");
    assert_eq!(counted(&instance), [labelled(&[("invalid", 1), ("missing", 1)]), labelled(&[])]);

    for _ in 0..2 {
        bench.place(&key(), order(1)).await.assert_placed();
    }
    let executed = [("executed", 2)];
    assert_eq!(counted(&instance), [labelled(&[("invalid", 1), ("missing", 1)]), labelled(&executed)]);
}
