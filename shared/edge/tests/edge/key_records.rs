//! The endpoint for key records: a client sees only the keys that it has used.

use diesel_async::SimpleAsyncConnection;
use idempotency::KeyPolicy;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::identity;

use crate::bench::{Bench, KEY, SCOPES, json_body, key, noted, order, send};
use crate::response::TestResponse;

fn path(key: &str) -> String {
    format!("/v1/idempotency-keys/{key}")
}

async fn ask_as(bench: &Bench, tenant: &str, client: &str, key: &str) -> TestResponse {
    // A client needs no scope for its own keys.
    send(bench.request_as(&identity::token(tenant, client, ""), Method::GET, &path(key))).await
}

async fn place_as(bench: &Bench, tenant: &str, client: &str) -> TestResponse {
    let request = bench.request_as(&identity::token(tenant, client, SCOPES), Method::POST, "/v1/orders");
    send(json_body(request, order(1)).header("Idempotency-Key", KEY)).await
}

/// Returns the records in the response.
#[track_caller]
fn shown(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["data"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_shows_its_record_in_either_spelling() {
    let bench = Bench::start().await;
    let placed = bench.place(KEY, order(1)).await;
    placed.assert_placed();
    let quoted = format!("%22{KEY}%22");
    for spelling in [KEY, &quoted, &KEY.to_uppercase(), &format!("{quoted};a=1"), &KEY.replace('-', "%2D")] {
        let records = shown(&bench.get(&path(spelling)).await);
        let [record] = records.as_slice() else { panic!("{spelling}: {records:?}") };
        assert_eq!(record["location"].as_str(), placed.header("location"), "{spelling}");
        let of_command = [&record["method"], &record["route"], &record["state"], &record["status"]];
        assert_eq!(of_command, [&json!("POST"), &json!("/v1/orders"), &json!("completed"), &json!(201)]);
        let [created, completed, expires] = ["created_at", "completed_at", "expires_at"]
            .map(|member| record[member].as_str().unwrap().to_owned());
        assert!(created <= completed && completed < expires, "{record}");
        assert_eq!(record.as_object().unwrap().len(), 9, "{record}");
        let facts = "SELECT count(*) AS number FROM audit_fact JOIN idempotency_record USING (operation_id)";
        assert_eq!(bench.number(facts).await, 1);
        assert!(uuid::Uuid::parse_str(record["operation_id"].as_str().unwrap()).is_ok(), "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_used_on_two_routes_shows_both() {
    let bench = Bench::start().await;
    let placed = bench.place(KEY, order(1)).await;
    let cancel = format!("{}/cancel", placed.header("location").unwrap());
    assert_eq!(send(bench.command(&cancel, KEY, "{}")).await.status, 200);
    // Keys of other clients and a rejection are stored between the two.
    bench.place(&key(), order(1)).await.assert_placed();
    bench.place(&key(), noted("too much")).await.refuses(422, "too-much");
    let records = shown(&bench.get(&path(KEY)).await);
    let routes: Vec<_> =
        records.iter().map(|r| (r["route"].as_str().unwrap(), r["location"].is_null())).collect();
    assert_eq!(routes, [("/v1/orders", false), ("/v1/orders/{id}/cancel", true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_that_is_stored_is_shown() {
    let bench = Bench::start().await;
    bench.place(KEY, noted("too much")).await.refuses(422, "too-much");
    let records = shown(&bench.get(&path(KEY)).await);
    assert_eq!([&records[0]["status"], &records[0]["location"]], [&json!(422), &Value::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_client_or_tenant_is_404() {
    let bench = Bench::start().await;
    place_as(&bench, "acme", "web-shop").await.assert_placed();
    let unused = ask_as(&bench, "acme", "web-shop", &key()).await;
    unused.refuses(404, "not-found");
    for (tenant, client) in [("acme", "call-centre"), ("globex", "web-shop"), ("globex", "call-centre")] {
        let theirs = ask_as(&bench, tenant, client, KEY).await;
        // The response equals the one for an unused key.
        assert_eq!((theirs.status, theirs.without_id()), (404, unused.without_id()), "{tenant} {client}");
    }
    // Each client sees only its own use of the same key.
    let mut operations = Vec::new();
    for (tenant, client) in [("acme", "web-shop"), ("acme", "call-centre"), ("globex", "web-shop")] {
        if !operations.is_empty() {
            place_as(&bench, tenant, client).await.assert_placed();
        }
        let records = shown(&ask_as(&bench, tenant, client, KEY).await);
        assert_eq!(records.len(), 1, "{tenant} {client}: {records:?}");
        operations.push(records[0]["operation_id"].clone());
    }
    operations.dedup();
    assert_eq!(operations.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_no_longer_replayed_has_expired() {
    let bench = Bench::start().await;
    for erase in [
        "UPDATE idempotency_record SET expires_at = clock_timestamp()",
        "UPDATE idempotency_record SET expires_at = '2999-01-01'; DELETE FROM idempotency_snapshot",
    ] {
        let key = key();
        bench.place(&key, order(1)).await.assert_placed();
        bench.database.owner().await.batch_execute(erase).await.unwrap();
        bench.place(&key, order(1)).await.refuses(409, "idempotency-key-expired");
        let records = shown(&bench.get(&path(&key)).await);
        assert_eq!([&records[0]["state"], &records[0]["location"]], [&json!("expired"), &Value::Null]);
        assert_eq!(records[0]["status"], 201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_key_is_refused_here_as_well() {
    let bench = Bench::start().await;
    for malformed in ["1", "order-2026-11-20-0001", "%22", &format!("{KEY},{KEY}"), "%C3%A9", "%FF", "%00"] {
        bench.get(&path(malformed)).await.refuses(400, "idempotency-key-invalid");
    }
    bench.get(&path("")).await.refuses(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_any_characters_can_be_read() {
    let bench = Bench::with(|settings| settings.key_policy = KeyPolicy::Any).await;
    for (header, path_segment) in [
        ("tea/2026:0001+a=b~c.d_e", "tea%2F2026:0001+a=b~c.d_e"),
        (r#""a%20b,{c}?d#e;f[g]h""#, "%22a%2520b,%7Bc%7D%3Fd%23e;f%5Bg%5Dh%22"),
        (r#""back\\slash-0123456789""#, "%22back%5C%5Cslash-0123456789%22"),
    ] {
        bench.place(header, order(1)).await.assert_placed();
        assert_eq!(shown(&bench.get(&path(path_segment)).await).len(), 1, "{header}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_progress_has_no_record_yet() {
    let bench = Bench::start().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (placed, ()) = tokio::join!(bench.place(KEY, noted("wait")), async {
        bench.in_flight().await;
        bench.get(&path(KEY)).await.refuses(404, "not-found");
        owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    });
    placed.assert_placed();
    assert_eq!(shown(&bench.get(&path(KEY)).await).len(), 1);
}
