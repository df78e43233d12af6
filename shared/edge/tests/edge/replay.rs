//! Replays: a retry gets the first response byte for byte, marked as a replay.

use diesel_async::SimpleAsyncConnection;
use reqwest::Method;
use serde_json::Value;
use testkit::identity;

use crate::bench::{Bench, KEY, SCOPES, Table, json_body, key, noted, order, send};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_is_marked_as_executed_and_a_retry_as_replayed() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    first.assert_placed();
    assert_eq!(first.header("idempotency-original-date"), None);
    let id = first.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(first.header("location"), Some(format!("/v1/orders/{id}").as_str()));
    assert_eq!(first.header("etag"), Some("\"1\""));
    assert_eq!(first.header("content-type"), Some("application/json"));

    let date = {
        let retry = bench.place(KEY, order(1)).await;
        retry.assert_replays(&first);
        retry.header("idempotency-original-date").unwrap().to_owned()
    };
    assert!(date.starts_with("20") && date.ends_with('Z'), "{date}");
    for _ in 0..10 {
        let retry = bench.place(KEY, order(1)).await;
        retry.assert_replays(&first);
        assert_eq!(retry.header("idempotency-original-date"), Some(date.as_str()));
        // Headers of the single exchange are not replayed.
        assert_ne!(retry.header("x-request-id"), first.header("x-request-id"));
        assert_eq!((retry.header("cache-control"), retry.header("set-cookie")), (Some("no-store"), None));
    }
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_response_stays_as_it_was_when_the_order_changes_or_goes() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let path = first.header("location").unwrap().to_owned();
    let cancelled = send(bench.command(&format!("{path}/cancel"), KEY, "{}")).await;
    assert_eq!((cancelled.status, &cancelled.json()["cancelled"]), (200, &Value::Bool(true)));
    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.database.owner().await.batch_execute("DELETE FROM placed").await.unwrap();
    bench.place(KEY, order(1)).await.assert_replays(&first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_retry_is_told_that_it_was_not_executed_and_changes_nothing() {
    let bench = Bench::with(|settings| settings.body_limit = 1000).await;
    let first = bench.place(KEY, order(1)).await;
    first.assert_placed();
    let retry = |media_type: &str, body: &str| {
        let request = bench.request(Method::POST, "/v1/orders").header("Content-Type", media_type);
        send(request.header("Idempotency-Key", KEY).body(body.to_owned()))
    };
    let cut = &order(1)[..9];
    for (media_type, body, status, code) in [
        ("application/json", "", 400, "request-invalid"),
        ("application/json", cut, 400, "request-invalid"),
        ("application/json", "nonsense", 400, "request-invalid"),
        ("text/plain", &order(1), 415, "unsupported-media-type"),
        ("application/json", &"1".repeat(1001), 413, "request-too-large"),
    ] {
        let problem = retry(media_type, body).await.refuses(status, code);
        let truth = "This request was not executed; an earlier request with the same key is unaffected.";
        assert!(problem.detail.ends_with(truth), "{body}: {problem:?}");
    }
    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instance_replays_too() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let other = Bench::on(crate::bench::shop_database().await, bench.database.second_instance(), |_| {});
    other.place(KEY, order(1)).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_replayed_like_a_success() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, noted("too much")).await;
    first.refuses(422, "too-much");
    assert_eq!(first.header("idempotency-status"), Some("executed"));
    bench.place(KEY, noted("too much")).await.assert_replays(&first);
    assert_eq!((bench.count(Table::Orders).await, bench.count(Table::Records).await), (0, 1));
    bench.assert_orders(0).await;

    // A missing resource is a rejection, too.
    let nowhere = format!("/v1/orders/{}/cancel", key());
    let first = send(bench.command(&nowhere, KEY, "{}")).await;
    first.refuses(404, "not-found");
    send(bench.command(&nowhere, KEY, "{}")).await.assert_replays(&first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_has_retry_after_and_is_not_stored() {
    let bench = Bench::start().await;
    for _ in 0..2 {
        let response = bench.place(KEY, noted("not yet")).await;
        assert!(response.refuses(422, "not-yet").retryable);
        assert_eq!(response.header("idempotency-status"), None);
    }
    bench.assert_untouched().await;
    // Another request may use the key, because nothing is stored.
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_cannot_be_serialised_is_rolled_back_and_not_stored() {
    let bench = Bench::start().await;
    for _ in 0..2 {
        bench.place(KEY, noted("unserialisable")).await.refuses(500, "internal-error");
        bench.assert_untouched().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_too_large_to_store_is_rolled_back() {
    let bench = Bench::start().await;
    bench.place(KEY, noted("large")).await.refuses(500, "internal-error");
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_key_is_refused_without_retry_after() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let problem = bench.place(KEY, order(2)).await;
    assert!(!problem.refuses(409, "idempotency-key-reused").retryable);
    assert_eq!((problem.header("idempotency-status"), problem.header("retry-after")), (None, None));
    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_refused_without_retry_after() {
    let bench = Bench::start().await;
    bench.place(KEY, order(1)).await.assert_placed();
    let age = "UPDATE idempotency_record SET expires_at = clock_timestamp()";
    bench.database.owner().await.batch_execute(age).await.unwrap();
    for _ in 0..2 {
        let problem = bench.place(KEY, order(1)).await;
        assert!(!problem.refuses(409, "idempotency-key-expired").retryable);
        assert_eq!((problem.is_replay(), problem.header("retry-after")), (false, None));
    }
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reused_and_expired_keys_are_422_where_the_setting_says_so() {
    let bench = Bench::with(|settings| settings.mismatch_status = 422).await;
    bench.place(KEY, order(1)).await.assert_placed();
    bench.place(KEY, order(2)).await.refuses(422, "idempotency-key-reused");
    let age = "UPDATE idempotency_record SET expires_at = clock_timestamp()";
    bench.database.owner().await.batch_execute(age).await.unwrap();
    bench.place(KEY, order(1)).await.refuses(422, "idempotency-key-expired");
    // A key in progress is 409 under both settings, because it is not a mismatch.
    bench
        .database
        .owner()
        .await
        .batch_execute("UPDATE idempotency_record SET state = 'started'")
        .await
        .unwrap();
    bench.place(KEY, order(1)).await.refuses(409, "idempotency-key-in-progress");
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_of_a_request_in_flight_is_409() {
    let bench = Bench::start().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (first, ()) = tokio::join!(bench.place(KEY, noted("wait")), async {
        bench.in_flight().await;
        for _ in 0..3 {
            let problem = bench.place(KEY, noted("wait")).await;
            assert!(problem.refuses(409, "idempotency-key-in-progress").retryable);
        }
        owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    });
    first.assert_placed();
    bench.place(KEY, noted("wait")).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_authorised_anew() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let again = async |scopes: &str| {
        let token = identity::token("acme", "web-shop", scopes);
        let request = bench.request_as(&token, Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
        send(json_body(request, order(1))).await
    };
    again("orders:read").await.refuses(403, "forbidden");
    // A new token with further scopes is the same caller.
    again(&format!("{SCOPES} payments:read")).await.assert_replays(&first);
    let anonymous = bench.plain(Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
    send(json_body(anonymous, order(1))).await.refuses(401, "unauthenticated");
}
