use serde_json::json;

use crate::bench::{Bench, key};

#[test]
fn the_openapi_file_is_what_the_program_says() {
    testkit::assert_document_is_fresh(env!("CARGO_BIN_EXE_orders"), "orders");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_stored_under_the_route_of_its_command() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = bench.placed("acme").await;
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap());
    let cancelled = bench.post("acme", &path, &key(), &json!({ "reason": "too late" })).send().await.unwrap();
    assert_eq!(cancelled.status(), 200);
    let commands = ["POST /v1/orders", "POST /v1/orders/{id}/cancel"];
    testkit::assert_keyed_commands(&bench.database, "orders", &commands).await;
}
