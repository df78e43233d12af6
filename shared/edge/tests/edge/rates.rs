//! Limits: a flood of one tenant, client or stranger does not affect the others.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

use edge::{Limits, RateLimit};
use reqwest::Method;
use testkit::{eventually, identity};

use crate::bench::{Bench, SCOPES, Table, json_body, key, order, send};
use crate::response::TestResponse;

/// A shop with a limit that a test can reach.
async fn limited(per_second: u32, burst: u32) -> Bench {
    with_limits(|limits| limits.tenant = Some(rate(per_second, burst))).await
}

async fn with_limits(adjust: impl FnOnce(&mut Limits)) -> Bench {
    Bench::with(|settings| adjust(&mut settings.limits)).await
}

fn rate(per_second: u32, burst: u32) -> RateLimit {
    let [per_second, burst] = [per_second, burst].map(|number| NonZeroU32::new(number).unwrap());
    RateLimit { per_second, burst }
}

async fn read_as(bench: &Bench, tenant: &str, client: &str) -> TestResponse {
    let token = identity::token(tenant, client, SCOPES);
    send(bench.request_as(&token, Method::GET, "/v1/orders")).await
}

/// Sends reads until the tenant is refused. Returns the refusal.
async fn exhaust(bench: &Bench, tenant: &str) -> TestResponse {
    for _ in 0..1_000 {
        let response = read_as(bench, tenant, "web-shop").await;
        if response.status == 429 {
            return response;
        }
        assert_eq!(response.status, 200, "{response:?}");
    }
    panic!("a thousand requests were let in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_tenant_leaves_others_untouched() {
    let bench = limited(1, 20).await;
    let problem = exhaust(&bench, "acme").await.refuses(429, "rate-limited");
    assert!(problem.retryable);
    // The limit is the tenant's: a client that has never sent anything is refused as well.
    let clients = Cell::new(0);
    eventually("another client is refused", async || {
        clients.set(clients.get() + 1);
        exhaust(&bench, "acme").await;
        let response = read_as(&bench, "acme", &format!("client-{}", clients.get())).await;
        (response.status == 429).then_some(())
    })
    .await;
    for _ in 0..20 {
        assert_eq!(read_as(&bench, "globex", "web-shop").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limited_request_is_not_stored_and_its_retry_is_executed() {
    let bench = limited(1, 2).await;
    let mut carried_out = 0;
    let (key, limited) = loop {
        exhaust(&bench, "acme").await;
        let key = key();
        let response = bench.place(&key, order(1)).await;
        if response.status == 429 {
            break (key, response);
        }
        // Meanwhile the bucket has gained a token.
        response.assert_placed();
        carried_out += 1;
    };
    limited.refuses(429, "rate-limited");
    bench.assert_orders(carried_out).await;
    assert_eq!(bench.count(Table::Records).await, carried_out);
    // Waits as long as Retry-After says. The next request is then accepted.
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    bench.place(&key, order(1)).await.assert_placed();
    bench.assert_orders(carried_out + 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_limit_is_checked_before_the_request() {
    let bench = limited(1, 2).await;
    let token = identity::token("acme", "web-shop", "orders:read");
    eventually("both are refused for that alone", async || {
        exhaust(&bench, "acme").await;
        // The request has no scope, no key and no JSON, but the rate limit is checked first.
        let post = json_body(bench.request_as(&token, Method::POST, "/v1/orders"), "{");
        let put = json_body(bench.request_as(&token, Method::PUT, "/v1/items/TEA"), "{");
        let (post, put) = tokio::join!(send(post), send(put));
        ([post.status, put.status] == [429, 429]).then_some(())
    })
    .await;
    // Authentication is checked before the rate limit.
    send(bench.plain(Method::POST, "/v1/orders")).await.refuses(401, "unauthenticated");
    assert_eq!(bench.count(Table::Records).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_counts_once_and_pages_without_a_token_do_not_count() {
    let bench = limited(1, 40).await;
    let start = tokio::time::Instant::now();
    let mut let_in = 0;
    // The list authenticates twice, for the cursor and for the rows, and is counted once.
    while read_as(&bench, "acme", "web-shop").await.status == 200 {
        let_in += 1;
        send(bench.plain(Method::GET, "/openapi.json")).await;
    }
    let refilled = start.elapsed().as_secs() + 1;
    assert!((40..=40 + refilled).contains(&let_in), "{let_in} in {:?}", start.elapsed());
    assert_eq!(send(bench.plain(Method::GET, "/openapi.json")).await.status, 200);
    assert_eq!(send(bench.plain(Method::GET, "/problems/rate-limited")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_limit_no_request_is_refused() {
    let bench = Bench::start().await;
    for _ in 0..300 {
        assert_eq!(read_as(&bench, "acme", "web-shop").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_client_leaves_the_other_clients_of_its_tenant_untouched() {
    let bench = with_limits(|limits| {
        (limits.tenant, limits.client) = (Some(rate(100, 200)), Some(rate(1, 10)));
    })
    .await;
    let refused = exhaust(&bench, "acme").await;
    assert!(refused.refuses(429, "rate-limited").detail.contains("client"));
    // What the client is refused takes nothing of its tenant's limit.
    for _ in 0..300 {
        read_as(&bench, "acme", "web-shop").await;
    }
    for _ in 0..10 {
        assert_eq!(read_as(&bench, "acme", "till").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_tokens_keep_no_other_token_of_their_address_out() {
    let bench = Bench::start().await;
    for _ in 0..200 {
        send(bench.request_as("forged", Method::GET, "/v1/orders")).await.refuses(401, "unauthenticated");
    }
    assert_eq!(read_as(&bench, "acme", "till").await.status, 200);
}
