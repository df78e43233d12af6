use serde_json::{Value, json};
use tokio::process::Command;

use crate::bench::{Bench, key, order, problem};

fn because(reason: &str) -> Value {
    json!({ "reason": reason })
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_again_with_the_same_reason_succeeds_and_with_another_does_not() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = bench.placed("acme").await;
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap());
    let cancel =
        async |reason: &str| bench.post("acme", &path, &key(), &because(reason)).send().await.unwrap();

    let first = cancel("changed my mind").await;
    assert_eq!(first.status(), 200);
    let cancelled: Value = first.json().await.unwrap();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["cancellation"], json!({"reason": "customer", "note": "changed my mind"}));

    let again = cancel("changed my mind").await;
    assert_eq!((again.status().as_u16(), &again.headers()["Idempotency-Status"] == "executed"), (200, true));
    assert_eq!(again.json::<Value>().await.unwrap(), cancelled);
    assert_eq!(problem(cancel("too dear").await, 409).await, "order-cancelled-otherwise");
    let announced = "SELECT count(*) FROM outbox_event WHERE type = 'orders.OrderCancelled.v1'";
    assert_eq!(bench.count(announced).await, 1);
    // Two requests were accepted, and one changed the order.
    assert_eq!(bench.count("SELECT count(*) FROM audit_fact WHERE action = 'order.cancel'").await, 2);
    assert_eq!(bench.count("SELECT count(*) FROM order_timeline WHERE what = 'OrderCancelled'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_ended_by_itself_cannot_be_cancelled_and_the_rejection_is_replayed() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = bench.placed("acme").await;
    let mut owner = bench.database.owner().await;
    let expire = "UPDATE orders SET state = 'cancelled', cancel_reason = 'expired', sequence = 2";
    diesel_async::RunQueryDsl::execute(diesel::sql_query(expire), &mut owner).await.unwrap();
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap());
    let key = key();
    for replayed in [false, true] {
        let response = bench.post("acme", &path, &key, &because("changed my mind")).send().await.unwrap();
        assert_eq!(response.headers().contains_key("Idempotent-Replayed"), replayed);
        assert_eq!(problem(response, 409).await, "order-not-cancellable");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_order_can_no_longer_be_cancelled() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = bench.placed("acme").await;
    let mut owner = bench.database.owner().await;
    let confirm = "UPDATE orders SET state = 'confirmed', payment_id = gen_random_uuid(), sequence = 3";
    diesel_async::RunQueryDsl::execute(diesel::sql_query(confirm), &mut owner).await.unwrap();
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap());
    let response = bench.post("acme", &path, &key(), &because("late")).send().await.unwrap();
    assert_eq!(problem(response, 409).await, "order-not-cancellable");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_order_cannot_be_cancelled() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let order = bench.placed("acme").await;
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap());
    let response = bench.post("rival", &path, &key(), &because("mine now")).send().await.unwrap();
    assert_eq!(problem(response, 404).await, "not-found");
    assert_eq!(bench.count("SELECT count(*) FROM orders WHERE state = 'cancelled'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_by_reference_takes_back_the_responses_of_repeated_cancellations() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut body = order("TEA");
    body["reference"] = json!("basket-4711");
    let placed: Value = bench.place("acme", &key(), &body).await.json().await.unwrap();
    let path = format!("/v1/orders/{}/cancel", placed["id"].as_str().unwrap());
    let keys = [key(), key()];
    let cancel = async |key| bench.post("acme", &path, key, &because("ask for Maria")).send().await.unwrap();
    for key in &keys {
        assert_eq!(cancel(key).await.status(), 200);
    }

    let words =
        ["erase", "--tenant", "acme", "--reference", "basket-4711", "--by", "kim", "--reason", "asked for"];
    let mut erase = Command::new(env!("CARGO_BIN_EXE_orders"));
    erase.args(words).env_clear().env("IDEM_DATABASE__URL", bench.database.service_url(None));
    erase.env("IDEM_DEPLOYMENT__NAME", "shop");
    let output = erase.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "the texts of 1 rows are erased, and 3 stored responses with them\n");
    for key in &keys {
        assert_eq!(problem(cancel(key).await, 409).await, "idempotency-key-expired");
    }
}
