use serde_json::{Value, json};

use crate::bench::{Bench, key, problem};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_reads_as_it_was_placed() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let placed = bench.placed("acme").await;
    let response = bench.get("acme", &format!("/v1/orders/{}", placed["id"].as_str().unwrap())).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.json::<Value>().await.unwrap(), placed);
    assert_eq!(placed["updated_at"], placed["placed_at"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_the_client_has_is_not_sent_again_until_it_changes() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let path = format!("/v1/orders/{}", bench.placed("acme").await["id"].as_str().unwrap());
    let tag = async |known: &str| {
        let response = bench.get_unless("acme", &path, known).await;
        let tag = response.headers()["ETag"].to_str().unwrap().to_owned();
        (response.status().as_u16(), tag, response.text().await.unwrap().len())
    };
    assert_eq!(tag("\"1\"").await, (304, "\"1\"".to_owned(), 0));
    assert_eq!(tag("\"7\", W/\"1\"").await.0, 304);
    assert_eq!(tag("*").await.0, 304);
    let cancel = bench.post("acme", &format!("{path}/cancel"), &key(), &json!({"reason": "changed my mind"}));
    assert_eq!(cancel.send().await.unwrap().status(), 200);
    let (status, tag, length) = tag("\"1\"").await;
    assert_eq!((status, tag.as_str()), (200, "\"2\""));
    assert!(length > 0);
    // A tenant that may not read the order does not learn its version.
    assert_eq!(problem(bench.get_unless("rival", &path, "\"2\"").await, 404).await, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_order_is_404_like_an_unknown_one() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let placed = bench.placed("acme").await;
    let path = format!("/v1/orders/{}", placed["id"].as_str().unwrap());
    let foreign = bench.get("rival", &path).await.text().await.unwrap();
    let absent =
        bench.get("rival", "/v1/orders/00000000-0000-7000-8000-000000000000").await.text().await.unwrap();
    assert_eq!(foreign, absent);
    assert_eq!(problem(bench.get("rival", &path).await, 404).await, "not-found");
    let list: Value = bench.get("rival", "/v1/orders").await.json().await.unwrap();
    assert_eq!(list["data"].as_array().unwrap().len(), 0);
}
