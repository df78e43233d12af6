//! The endpoint that fences a key.

use diesel_async::SimpleAsyncConnection;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::identity;

use crate::bench::{Bench, KEY, SCOPES, Table, json_body, noted, order, send};
use crate::response::TestResponse;

fn path(key: &str) -> String {
    format!("/v1/idempotency-keys/{key}/fence")
}

async fn fence(bench: &Bench, key: &str) -> TestResponse {
    send(bench.request(Method::POST, &path(key))).await
}

/// Returns the routes and states of the records, and the time of the fence.
#[track_caller]
fn told(response: &TestResponse) -> (Vec<(String, String)>, String) {
    assert_eq!(response.status, 200, "{response:?}");
    let body = response.json();
    let text = |record: &Value, member: &str| record[member].as_str().unwrap().to_owned();
    let records = body["data"].as_array().unwrap();
    let records = records.iter().map(|record| (text(record, "route"), text(record, "state"))).collect();
    (records, text(&body, "fenced_at"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrives_after_its_fence_is_refused_for_ever() {
    let bench = Bench::start().await;
    let (records, fenced_at) = told(&fence(&bench, KEY).await);
    assert_eq!(records, []);
    for _ in 0..2 {
        let refused = bench.place(KEY, order(1)).await;
        assert!(!refused.refuses(409, "idempotency-key-fenced").retryable);
        assert_eq!(refused.header("Retry-After"), None);
    }
    bench.assert_orders(0).await;
    // The fence is told again, also to a client that only reads.
    assert_eq!(told(&fence(&bench, &format!("%22{}%22", KEY.to_uppercase())).await), (vec![], fenced_at));
    assert_eq!(told(&bench.get(&format!("/v1/idempotency-keys/{KEY}")).await).0, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_tells_every_use_of_its_key_and_refuses_further_routes() {
    let bench = Bench::start().await;
    let placed = bench.place(KEY, order(1)).await;
    placed.assert_placed();
    let used = vec![("/v1/orders".to_owned(), "completed".to_owned())];
    assert_eq!(told(&fence(&bench, KEY).await).0, used);
    bench.place(KEY, order(1)).await.assert_replays(&placed);
    let cancel = format!("{}/cancel", placed.header("location").unwrap());
    send(bench.command(&cancel, KEY, "{}")).await.refuses(409, "idempotency-key-fenced");
    assert_eq!(told(&fence(&bench, KEY).await).0, used);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_that_is_stored_is_what_happened() {
    let bench = Bench::start().await;
    bench.place(KEY, noted("too much")).await.refuses(422, "too-much");
    let response = fence(&bench, KEY).await;
    assert_eq!(told(&response).0.len(), 1);
    assert_eq!(response.json()["data"][0]["status"], json!(422));
    bench.place(KEY, noted("too much")).await.refuses(422, "too-much");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_belongs_to_its_own_client() {
    let bench = Bench::start().await;
    for (tenant, client) in [("acme", "call-centre"), ("globex", "web-shop")] {
        let token = identity::token(tenant, client, "");
        assert_eq!(told(&send(bench.request_as(&token, Method::POST, &path(KEY))).await).0, []);
        let token = identity::token(tenant, client, SCOPES);
        let late = json_body(bench.request_as(&token, Method::POST, "/v1/orders"), order(1));
        send(late.header("Idempotency-Key", KEY)).await.refuses(409, "idempotency-key-fenced");
    }
    bench.place(KEY, order(1)).await.assert_placed();
    send(bench.plain(Method::POST, &path(KEY))).await.refuses(401, "unauthenticated");
    fence(&bench, "order-1").await.refuses(400, "idempotency-key-invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_progress_is_told_once_it_has_ended() {
    let bench = Bench::start().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (placed, ()) = tokio::join!(bench.place(KEY, noted("wait")), async {
        bench.in_flight().await;
        let refused = fence(&bench, KEY).await;
        assert!(refused.refuses(409, "idempotency-key-in-progress").retryable);
        assert_eq!(refused.header("Retry-After"), Some("1"));
        owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    });
    placed.assert_placed();
    assert_eq!(told(&fence(&bench, KEY).await).0.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_a_fence_is_not_read_and_only_its_digest_is_stored() {
    let bench = Bench::start().await;
    let with_body = json_body(bench.request(Method::POST, &path(KEY)), "{\"a\":1}");
    assert_eq!(told(&send(with_body).await).0, []);
    let stored = "SELECT count(*) AS number FROM idempotency_fence \
                   WHERE key_digest = idempotency_key_digest('acme', 'web-shop', '8e03978e-40d5-43e8-bc93-6894a57f9324')";
    assert_eq!(bench.number(stored).await, 1);
    assert_eq!(bench.count(Table::Records).await, 0);
}
