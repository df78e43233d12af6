//! Conditional requests: 304 for a current version, and 412 instead of a lost update.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::bench::{Bench, KEY, Table, json_body, key, noted, send};
use crate::response::TestResponse;

const ITEM: &str = "/v1/items/TEA";

async fn put(bench: &Bench, price: i64, conditions: &[&str]) -> TestResponse {
    let request = json_body(bench.request(Method::PUT, ITEM), json!({ "price": price }).to_string());
    send(conditions.iter().fold(request, |request, line| request.header("If-Match", *line))).await
}

async fn read(bench: &Bench, conditions: &[&str]) -> TestResponse {
    let request = bench.request(Method::GET, ITEM);
    send(conditions.iter().fold(request, |request, line| request.header("If-None-Match", *line))).await
}

#[track_caller]
fn assert_put(response: &TestResponse, version: &str) {
    assert_eq!((response.status, response.header("etag")), (200, Some(version)), "{response:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_the_client_has_is_not_sent_again() {
    let bench = Bench::start().await;
    assert_put(&put(&bench, 1, &[]).await, "\"1\"");
    assert_put(&put(&bench, 2, &[]).await, "\"2\"");
    for known in
        [&["\"2\""][..], &["W/\"2\""], &["\"1\", \"2\""], &["\"1\"", "\"2\""], &["*"], &["\"a,b\",\"2\""]]
    {
        let response = read(&bench, known).await;
        assert_eq!(
            (response.status, response.header("etag")),
            (304, Some("\"2\"")),
            "{known:?}: {response:?}"
        );
        assert!(response.body.is_empty() && response.header("content-type").is_none(), "{response:?}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
    for other in [&[][..], &["\"1\""], &["\"22\""], &["W/\"1\", \"3\""]] {
        let response = read(&bench, other).await;
        assert_eq!(
            (response.status, response.header("etag")),
            (200, Some("\"2\"")),
            "{other:?}: {response:?}"
        );
        assert_eq!(response.json(), json!({ "price": 2 }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_does_not_exist_matches_nothing() {
    let bench = Bench::start().await;
    read(&bench, &["*"]).await.refuses(404, "not-found");
    for wanted in ["*", "\"1\"", "\"0\""] {
        let problem = put(&bench, 1, &[wanted]).await.refuses(412, "precondition-failed");
        assert!(problem.detail.contains("yet"), "{problem:?}");
    }
    read(&bench, &[]).await.refuses(404, "not-found");
    assert_eq!(bench.count(Table::Facts).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_replaces_only_a_version_that_it_names() {
    let bench = Bench::start().await;
    assert_put(&put(&bench, 1, &[]).await, "\"1\"");
    assert_put(&put(&bench, 2, &["\"1\""]).await, "\"2\"");
    // Another client has changed the item. A weak tag does not count for a change.
    for stale in [&["\"1\""][..], &["W/\"2\""], &["\"1\", \"3\""], &["\"1\"", "\"3\""]] {
        let problem = put(&bench, 3, stale).await.refuses(412, "precondition-failed");
        assert!(problem.detail.contains("\"2\""), "{stale:?}: {problem:?}");
    }
    assert_eq!((read(&bench, &[]).await.json(), bench.count(Table::Facts).await), (json!({ "price": 2 }), 2));
    assert_put(&put(&bench, 3, &["\"1\", \"2\""]).await, "\"3\"");
    assert_put(&put(&bench, 4, &["*"]).await, "\"4\"");
    // The retry of a request whose response was lost succeeds, because the item already has the requested content.
    assert_put(&put(&bench, 4, &["\"3\""]).await, "\"4\"");
    assert_eq!(bench.count(Table::Facts).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_may_only_create_changes_nothing_that_exists() {
    let bench = Bench::start().await;
    let create = async |price: i64, tag: &str| {
        let request = json_body(bench.request(Method::PUT, ITEM), json!({ "price": price }).to_string());
        send(request.header("If-None-Match", tag)).await
    };
    assert_put(&create(1, "*").await, "\"1\"");
    // Not even the same content: the resource exists.
    for (price, tag) in [(2, "*"), (1, "*"), (2, "W/\"1\""), (2, "\"3\", \"1\"")] {
        create(price, tag).await.refuses(412, "precondition-failed");
    }
    assert_put(&create(100, "\"2\"").await, "\"2\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_no_precondition_refuses_one() {
    let bench = Bench::start().await;
    let key = key();
    for name in ["If-Match", "If-None-Match", "If-Unmodified-Since", "If-Modified-Since"] {
        let request = bench.command("/v1/orders", &key, noted("n")).header(name, "*");
        let problem = send(request).await.refuses(400, "request-invalid");
        assert_eq!(problem.pointers, [name.to_lowercase()]);
    }
    bench.place(&key, noted("n")).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_on_a_put_is_ignored() {
    let bench = Bench::start().await;
    for price in [1, 2] {
        let body = json!({ "price": price }).to_string();
        let request = json_body(bench.request(Method::PUT, ITEM), body).header("Idempotency-Key", KEY);
        let response = send(request).await;
        assert_put(&response, &format!("\"{price}\""));
        assert_eq!(response.header("idempotency-status"), Some("ignored"), "{response:?}");
    }
    assert_eq!(put(&bench, 3, &[]).await.header("idempotency-status"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_puts_of_one_version_one_wins() {
    let bench = Bench::start().await;
    assert_put(&put(&bench, 1, &[]).await, "\"1\"");
    let responses = join_all((2..18).map(|price| put(&bench, price, &["\"1\""]))).await;
    let (won, lost): (Vec<_>, Vec<_>) = responses.into_iter().partition(|response| response.status == 200);
    assert_eq!(won.len(), 1, "{won:?}");
    for response in lost {
        response.refuses(412, "precondition-failed");
    }
    assert_eq!(read(&bench, &[]).await.header("etag"), Some("\"2\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_cannot_be_read_is_refused() {
    let bench = Bench::start().await;
    assert_put(&put(&bench, 1, &[]).await, "\"1\"");
    for malformed in
        [&[""][..], &["1"], &["\"1"], &["\"1\" \"2\""], &["*", "\"1\""], &["\"1\", *"], &["w/\"1\""]]
    {
        let problem = put(&bench, 2, malformed).await.refuses(400, "request-invalid");
        assert_eq!(problem.pointers, ["if-match"], "{malformed:?}");
        let problem = read(&bench, malformed).await.refuses(400, "request-invalid");
        assert_eq!(problem.pointers, ["if-none-match"], "{malformed:?}");
    }
    assert_eq!(read(&bench, &[]).await.json(), json!({ "price": 1 }));
    // Without a valid token the response says nothing about the item.
    let request = json_body(bench.plain(Method::PUT, ITEM), "{}").header("If-Match", "1");
    send(request).await.refuses(401, "unauthenticated");
}
