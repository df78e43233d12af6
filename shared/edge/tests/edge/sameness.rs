//! Request fingerprints: which requests count as the same request under a key.

use reqwest::Method;
use testkit::identity;

use crate::bench::{Bench, KEY, SCOPES, key, order, send};

/// Places the first body. Equal bodies in another notation are replayed, and different bodies are refused.
async fn assert_same(first: &str, same: &[&str], others: &[&str]) {
    let bench = Bench::start().await;
    let placed = bench.place(KEY, first).await;
    placed.assert_placed();
    for same in same {
        bench.place(KEY, *same).await.assert_replays(&placed);
    }
    for other in others {
        let problem = bench.place(KEY, *other).await;
        assert_eq!(problem.refuses(409, "idempotency-key-reused").code, "idempotency-key-reused", "{other}");
    }
    bench.place(KEY, first).await.assert_replays(&placed);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_member_is_another_request() {
    assert_same(
        r#"{"lines":[{"sku":"TEA","amount":1}]}"#,
        &[],
        &[
            r#"{"lines":[{"sku":"TEA","amount":2}]}"#,
            r#"{"lines":[{"sku":"COFFEE","amount":1}]}"#,
            r#"{"lines":[{"sku":"TEA","amount":"1"}]}"#,
            r#"{"lines":[{"sku":"TEA","amount":1},{"sku":"TEA","amount":1}]}"#,
            r"{}",
            r#""""#,
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn order_and_white_space_make_no_difference() {
    assert_same(
        r#"{"lines":[{"sku":"TEA","amount":1}],"note":"n"}"#,
        &[
            r#"{"note":"n","lines":[{"amount":1,"sku":"TEA"}]}"#,
            "\n{ \"lines\" :\t[ {\"sku\": \"TEA\",\r\n \"amount\": 1 } ], \"note\": \"n\" }  \n",
        ],
        &[],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_compared_by_value_and_exactly() {
    assert_same(
        r#"{"lines":[{"sku":"TEA","amount":9007199254740993}],"weight":0.1}"#,
        &[
            r#"{"lines":[{"sku":"TEA","amount":9007199254740993.0}],"weight":1e-1}"#,
            r#"{"lines":[{"sku":"TEA","amount":9007199254740993e0}],"weight":0.10}"#,
            r#"{"lines":[{"sku":"TEA","amount":900719925474099.3e1}],"weight":10E-2}"#,
        ],
        &[
            r#"{"lines":[{"sku":"TEA","amount":9007199254740992}],"weight":0.1}"#,
            r#"{"lines":[{"sku":"TEA","amount":9007199254740993}],"weight":0.10000000000000001}"#,
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escapes_make_no_difference_and_normalisation_does() {
    assert_same(
        "{\"lines\":[{\"sku\":\"TEA\",\"amount\":1}],\"note\":\"A\u{e9}\"}",
        &[r#"{"lines":[{"sku":"T\u0045A","amount":1}],"note":"\u0041\u00e9"}"#],
        &["{\"lines\":[{\"sku\":\"TEA\",\"amount\":1}],\"note\":\"Ae\u{301}\"}"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_not_absent() {
    assert_same(&order(1), &[], &[r#"{"lines":[{"sku":"TEA","amount":1}],"note":null}"#]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_members_claim_nothing() {
    let bench = Bench::start().await;
    let twice = r#"{"lines":[{"sku":"TEA","amount":1,"am\u006funt":2}]}"#;
    let problem = bench.place(KEY, twice).await.refuses(400, "request-invalid");
    assert_eq!(problem.pointers, ["/lines/0/amount"]);
    bench.assert_untouched().await;
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn query_and_path_belong_to_the_request() {
    let bench = Bench::start().await;
    let first = send(bench.command("/v1/orders?a=1&b=2", KEY, order(1))).await;
    first.assert_placed();
    for same in ["/v1/orders?b=2&a=1", "/v1/orders?%61=1&b=2"] {
        send(bench.command(same, KEY, order(1))).await.assert_replays(&first);
    }
    for other in ["/v1/orders?a=2&b=2", "/v1/orders?a=1", "/v1/orders", "/v1/orders?a=1&b=2&b=3"] {
        send(bench.command(other, KEY, order(1))).await.refuses(409, "idempotency-key-reused");
    }

    // The path is part of the fingerprint: the same key for another order is another request.
    let (one, two) = (bench.place(&key(), order(1)).await, bench.place(&key(), order(1)).await);
    let cancel =
        |order: &crate::response::TestResponse| format!("{}/cancel", order.header("location").unwrap());
    let cancelled = send(bench.command(&cancel(&one), KEY, "{}")).await;
    assert_eq!((cancelled.status, cancelled.header("idempotency-status")), (200, Some("executed")));
    send(bench.command(&cancel(&two), KEY, "{}")).await.refuses(409, "idempotency-key-reused");
    send(bench.command(&cancel(&one), KEY, "{}")).await.assert_replays(&cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_on_another_route_is_another_command() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let cancel = format!("{}/cancel", first.header("location").unwrap());
    let cancelled = send(bench.command(&cancel, KEY, "{}")).await;
    assert_eq!((cancelled.status, cancelled.header("idempotency-status")), (200, Some("executed")));
    bench.place(KEY, order(1)).await.assert_replays(&first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_chunks_is_the_same_body() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let chunked = |body: &str| {
        let (one, two) = body.split_at(7);
        let head = bench.head(
            "/v1/orders",
            &[
                "Content-Type: application/json",
                "Transfer-Encoding: chunked",
                &format!("Idempotency-Key: {KEY}"),
            ],
        );
        format!("{head}\r\n{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len())
    };
    let same = bench.raw(chunked(&order(1))).await;
    assert_eq!((same.status, same.is_replay()), (201, true));
    assert_eq!(bench.raw(chunked(&order(2))).await.status, 409);
    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_change_between_retries_are_not_compared() {
    let bench = Bench::start().await;
    let first = bench.place(KEY, order(1)).await;
    let mut claims = identity::claims("acme", "web-shop", SCOPES);
    claims["jti"] = "refreshed".into();
    let request = bench.request_as(&identity::signed(&claims), Method::POST, "/v1/orders");
    let request = request
        .header("Idempotency-Key", KEY)
        .header("User-Agent", "another")
        .header("Accept-Encoding", "gzip")
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .header("Content-Type", "Application/JSON; charset=utf-8")
        .body(order(1));
    send(request).await.assert_replays(&first);
    // The same body under another key is another order.
    bench.place(&key(), order(1)).await.assert_placed();
    bench.assert_orders(2).await;
}
