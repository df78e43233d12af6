//! The list of orders: its pages, and its filters.

use edge::{CardNumbers, EdgeSettings};
use serde_json::{Value, json};

use crate::bench::{Bench, key, order};

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

/// The ids on a page.
async fn ids(bench: &Bench, path: &str) -> Vec<Value> {
    let page: Value = bench.get("acme", path).await.json().await.unwrap();
    page["data"]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"))
        .iter()
        .map(|order| order["id"].clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_listed_by_reference_and_status() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut placed = Vec::new();
    for reference in ["blue", "red & green", "blue"] {
        let order = json!({
            "lines": [{ "sku": "TEA", "quantity": 1 }], "payment_method": "pm_card_visa", "reference": reference,
        });
        let response = bench.post("acme", "/v1/orders", &key(), &order).send().await.unwrap();
        placed.push(response.json::<Value>().await.unwrap()["id"].clone());
    }
    let cancel = format!("/v1/orders/{}/cancel", placed[0].as_str().unwrap());
    let cancelled =
        bench.post("acme", &cancel, &key(), &json!({ "reason": "too late" })).send().await.unwrap();
    assert_eq!(cancelled.status(), 200);
    for (filter, expected) in [
        ("reference=blue", vec![&placed[2], &placed[0]]),
        ("reference=red+%26%20green", vec![&placed[1]]),
        ("reference=Blue", vec![]),
        ("status=pending", vec![&placed[2], &placed[1]]),
        ("status=cancelled&reference=blue", vec![&placed[0]]),
        ("status=confirmed", vec![]),
    ] {
        assert_eq!(
            ids(&bench, &format!("/v1/orders?{filter}")).await.iter().collect::<Vec<_>>(),
            expected,
            "{filter}"
        );
    }
    // A page of a filtered list leads to the next page of the same list.
    let page: Value = bench.get("acme", "/v1/orders?limit=1&reference=blue").await.json().await.unwrap();
    let cursor = page["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&bench, &format!("/v1/orders?reference=blue&cursor={cursor}")).await, [placed[0].clone()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_looks_like_a_card_number_is_stored_and_found_where_a_setting_says_so() {
    let settings =
        EdgeSettings { card_numbers_in_references: CardNumbers::Stored, ..EdgeSettings::default() };
    let bench = Bench::with(settings).await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut order = order("TEA");
    order["reference"] = json!("4242424242424242");
    let placed = bench.place("acme", &key(), &order).await;
    assert_eq!(placed.status(), 201);
    assert_eq!(ids(&bench, "/v1/orders?reference=4242424242424242").await.len(), 1);
    let events = "SELECT count(*) FROM outbox_event WHERE convert_from(payload, 'UTF8') LIKE '%4242%'";
    assert_eq!(bench.count(events).await, 0);
    let facts = "SELECT count(*) FROM audit_fact WHERE details::text LIKE '%4242%'";
    assert_eq!(bench.count(facts).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_the_list_does_not_have_is_refused_and_its_value_is_not_shown() {
    let bench = Bench::start().await;
    for (query, expected) in [
        ("state=pending", "a parameter is unknown; this list has limit, cursor, reference, status"),
        (
            "status=4242424242424242",
            "expected one of `pending`, `awaiting_payment`, `confirmed`, `cancelled`",
        ),
        ("status=pending&status=pending", "send this parameter once"),
        ("reference=", "a reference has 1 to 200 characters, no control characters"),
        ("reference=a%00b", "a reference has 1 to 200 characters, no control characters"),
    ] {
        let response = bench.get("acme", &format!("/v1/orders?{query}")).await;
        assert_eq!(response.status(), 400, "{query}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["errors"][0]["detail"], expected, "{query}");
        assert!(!problem.to_string().contains("4242"), "{problem}");
    }
}
