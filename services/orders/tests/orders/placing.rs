use serde_json::{Value, json};

use crate::bench::{Bench, key, order, problem};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_placed_with_its_event_its_fact_and_its_record() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let response = bench.place("acme", &key(), &order("TEA")).await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["Idempotency-Status"], "executed");
    let location = response.headers()["Location"].to_str().unwrap().to_owned();
    let placed: Value = response.json().await.unwrap();
    assert_eq!(location, format!("/v1/orders/{}", placed["id"].as_str().unwrap()));
    assert_eq!(placed["status"], "pending");
    assert_eq!(placed["total"], json!({"amount": 900, "currency": "EUR"}));

    let together = "SELECT count(*) FROM orders o \
        JOIN outbox_event e ON e.aggregate_id = o.id AND e.sequence = 1 AND e.type = 'orders.OrderPlaced.v1' \
        JOIN audit_fact a ON a.subject_id = o.id::text AND a.action = 'order.place' AND a.actor = 'shop' \
        JOIN idempotency_record r ON r.operation_id = a.operation_id AND r.state = 'completed' \
        JOIN order_timeline t ON t.order_id = o.id AND t.cause_id = a.operation_id AND t.what = 'OrderPlaced'";
    assert_eq!(bench.count(together).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_order_leaves_its_stored_response_and_nothing_else() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    bench.item("acme", "HAT", 450, "USD").await;
    let mixed = json!({"lines": [{"sku": "TEA", "quantity": 1}, {"sku": "HAT", "quantity": 1}], "payment_method": "pm_card_visa"});
    let dear = json!({"lines": [{"sku": "TEA", "quantity": 1}], "payment_method": "pm_card_visa", "expected_total": {"amount": 1, "currency": "EUR"}});
    for (body, code) in [(mixed, "currency-mixed"), (dear, "price-changed")] {
        let key = key();
        let first = bench.place("acme", &key, &body).await;
        assert!(first.headers().get("Idempotent-Replayed").is_none());
        assert_eq!(problem(first, 422).await, code);
        let again = bench.place("acme", &key, &body).await;
        assert_eq!(again.headers()["Idempotent-Replayed"], "true");
        assert_eq!(problem(again, 422).await, code);
    }
    let left = "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM outbox_event) + (SELECT count(*) FROM audit_fact) AS count";
    assert_eq!(bench.count(left).await, 0);
    assert_eq!(bench.count("SELECT count(*) FROM idempotency_record").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rejection_of_an_unknown_item_is_not_stored_and_the_same_key_succeeds_later() {
    let bench = Bench::start().await;
    let key = key();
    let refused = bench.place("acme", &key, &order("TEA")).await;
    assert!(refused.headers().contains_key("Retry-After"));
    assert_eq!(problem(refused, 422).await, "item-unknown");
    assert_eq!(bench.count("SELECT count(*) FROM idempotency_record").await, 0);
    bench.item("acme", "TEA", 450, "EUR").await;
    assert_eq!(bench.place("acme", &key, &order("TEA")).await.status(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_price_is_an_error_and_not_an_unknown_item() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "teapots").await;
    let key = key();
    for _ in 0..2 {
        let response = bench.place("acme", &key, &order("TEA")).await;
        assert_eq!(problem(response, 500).await, "internal-error");
    }
    let left = "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM idempotency_record) AS count";
    assert_eq!(bench.count(left).await, 0);
    let mut owner = bench.database.owner().await;
    let mended = diesel::sql_query("UPDATE catalogue_item SET currency = 'EUR'");
    diesel_async::RunQueryDsl::execute(mended, &mut owner).await.unwrap();
    assert_eq!(bench.place("acme", &key, &order("TEA")).await.status(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_another_tenant_is_unknown() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let response = bench.place("rival", &key(), &order("TEA")).await;
    assert_eq!(problem(response, 422).await, "item-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_validation_error_of_an_order_is_reported_with_its_pointer() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let line = json!({"sku": "TEA", "quantity": 1});
    let cases = [
        (json!({"lines": [], "payment_method": "pm_x"}), vec!["/lines"]),
        (
            json!({"lines": [{"sku": "TEA", "quantity": 0}], "payment_method": "4242"}),
            vec!["/lines/0/quantity", "/payment_method"],
        ),
        (json!({"lines": [line, line], "payment_method": "pm_x"}), vec!["/lines/1/sku"]),
        (json!({"lines": [{"sku": "a b", "quantity": 1}], "payment_method": "pm_x"}), vec!["/lines/0/sku"]),
        (
            json!({"lines": [{"sku": "TEA", "quantity": "1"}], "payment_method": "pm_x"}),
            vec!["/lines/0/quantity"],
        ),
        (
            json!({"lines": [{"sku": "TEA", "quantity": 1.5}], "payment_method": "pm_x"}),
            vec!["/lines/0/quantity"],
        ),
        (json!({"lines": [line], "payment_method": "pm_x", "reference": ""}), vec!["/reference"]),
        (json!({"lines": [line], "payment_method": "pm_x", "reference": null}), vec!["/reference"]),
        (
            json!({"lines": [line], "payment_method": "pm_x", "expected_total": {"amount": 1, "currency": "EURO"}}),
            vec!["/expected_total/currency"],
        ),
        (json!({"lines": [line], "payment_method": "pm_x", "coupon": "free"}), vec!["/coupon"]),
        (json!({"lines": [line], "payment_method": "pm_4242424242424242"}), vec!["/payment_method"]),
        (json!({"lines": [line], "payment_method": "4242424242424242"}), vec!["/payment_method"]),
        (
            json!({"lines": [line], "payment_method": "pm_x", "reference": "4242-4242-4242-4242"}),
            vec!["/reference"],
        ),
        (
            json!({"lines": [line], "payment_method": "pm_x", "reference": "1 ".repeat(16_000)}),
            vec!["/reference"],
        ),
    ];
    for (body, pointers) in cases {
        let response = bench.place("acme", &key(), &body).await;
        assert_eq!(response.status(), 400, "{body}");
        let problem: Value = response.json().await.unwrap();
        let found: Vec<&str> =
            problem["errors"].as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
        assert_eq!(found, pointers, "{problem}");
        assert!(!problem.to_string().contains("4242"), "the card number is repeated: {problem}");
    }
    let left = "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM idempotency_record) AS count";
    assert_eq!(bench.count(left).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_lines_of_one_sku_get_a_short_response() {
    let bench = Bench::start().await;
    let lines = vec![json!({"sku": "T", "quantity": 1}); 1000];
    let refused = bench.place("acme", &key(), &json!({"lines": lines, "payment_method": "pm_x"})).await;
    assert_eq!(refused.status(), 400);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 20);
    assert!(problem["detail"].as_str().unwrap().contains("1000 errors, of which 20"), "{problem}");
}
