use serde_json::Value;

use crate::bench::{Bench, problem};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_reads_as_it_was_placed() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let placed = bench.placed("acme").await;
    let response = bench.get("acme", &format!("/v1/orders/{}", placed["id"].as_str().unwrap())).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.json::<Value>().await.unwrap(), placed);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_order_is_not_found_like_one_that_never_was() {
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

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_newest_first_and_pages_to_the_end() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut placed = Vec::new();
    for _ in 0..5 {
        placed.push(bench.placed("acme").await["id"].clone());
    }
    placed.reverse();
    let (mut seen, mut path) = (Vec::new(), "/v1/orders?limit=2".to_owned());
    loop {
        let page: Value = bench.get("acme", &path).await.json().await.unwrap();
        seen.extend(page["data"].as_array().unwrap().iter().map(|order| order["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/orders?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, placed);
}
