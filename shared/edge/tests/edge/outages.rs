//! Outages of the database and internal errors: the response is 503 or 500, and nothing is stored.

use std::num::NonZeroU32;
use std::time::Duration;

use database::{Database, Settings};
use edge::{EdgeSettings, RateLimit};
use idempotency::ReplayCache;
use reqwest::Method;
use testkit::{Proxy, eventually, identity};
use tokio::runtime::Handle;

use crate::bench::{Bench, KEY, SCOPES, json_body, key, noted, order, send, shop_database};

/// A shop that reaches its database through a proxy.
async fn distant() -> (Bench, Proxy) {
    let (bench, proxy, _) = distant_with(|_| {}).await;
    (bench, proxy)
}

/// The same with other settings, and the shop's handle of the database.
async fn distant_with(adjust: impl FnOnce(&mut EdgeSettings)) -> (Bench, Proxy, Database) {
    let database = shop_database().await;
    let proxy = Proxy::to_postgres().await;
    let mut settings = Settings::new(database.service_url(Some(proxy.address())));
    settings.statement_timeout = Duration::from_mins(1);
    let instance = Database::new(&settings, Handle::current()).unwrap();
    (Bench::on(database, instance.clone(), adjust), proxy, instance)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_every_route_is_503_and_nothing_is_done() {
    let (bench, proxy) = distant().await;
    let first = bench.place(KEY, order(1)).await;
    first.assert_placed();
    proxy.cut().await;
    let other = key();
    for _ in 0..2 {
        assert!(bench.place(&other, order(1)).await.refuses(503, "service-unavailable").retryable);
        // A replay fails too, because nothing has confirmed the responses in memory.
        bench.place(KEY, order(1)).await.refuses(503, "service-unavailable");
        bench.get("/v1/orders").await.refuses(503, "service-unavailable");
        let put = json_body(bench.request(Method::PUT, "/v1/items/TEA"), r#"{"price":1}"#);
        send(put).await.refuses(503, "service-unavailable");
        // Invalid requests are refused as usual, because validation needs no database.
        bench.place(&other, "{").await.refuses(400, "request-invalid");
        bench.place("no key", order(1)).await.refuses(400, "idempotency-key-invalid");
    }
    proxy.mend();
    let placed = eventually("the pool heals", async || {
        Some(bench.place(&other, order(1)).await).filter(|response| response.status != 503)
    })
    .await;
    placed.assert_placed();
    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.assert_orders(2).await;
}

/// Without the database, each response but 503 comes from memory or from a check before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_from_memory_is_authorised_limited_and_validated_like_any_request() {
    const REQUESTS: u32 = 8;
    let limit = RateLimit { per_second: NonZeroU32::MIN, burst: NonZeroU32::new(REQUESTS).unwrap() };
    let (bench, proxy, instance) = distant_with(|settings| settings.limits.client = Some(limit)).await;
    ReplayCache::confirm(&instance).await.unwrap();
    let first = bench.place(KEY, order(1)).await;
    first.assert_placed();
    proxy.cut().await;

    bench.place(KEY, order(1)).await.assert_replays(&first);
    bench.place(KEY, order(2)).await.refuses(409, "idempotency-key-reused");
    bench.place(KEY, "{").await.refuses(400, "request-invalid");
    let again = async |tenant: &str, client: &str, scopes: &str| {
        let token = identity::token(tenant, client, scopes);
        let request = bench.request_as(&token, Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
        send(json_body(request, order(1))).await
    };
    again("acme", "web-shop", "orders:read").await.refuses(403, "forbidden");
    again("acme", "call-centre", SCOPES).await.refuses(503, "service-unavailable");
    again("globex", "web-shop", SCOPES).await.refuses(503, "service-unavailable");
    let anonymous = bench.plain(Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
    send(json_body(anonymous, order(1))).await.refuses(401, "unauthenticated");
    let limited = eventually("the client is limited", async || {
        Some(bench.place(KEY, order(1)).await).filter(|response| !response.is_replay())
    });
    limited.await.refuses(429, "rate-limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_before_the_commit_is_503_and_nothing_is_done() {
    use diesel_async::SimpleAsyncConnection;
    let (bench, proxy) = distant().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (lost, ()) = tokio::join!(bench.place(KEY, noted("wait")), async {
        bench.in_flight().await;
        proxy.cut().await;
    });
    lost.refuses(503, "service-unavailable");
    owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    bench.assert_untouched().await;
    proxy.mend();
    let placed = eventually("the pool heals", async || {
        Some(bench.place(KEY, noted("wait")).await)
            .filter(|response| response.status != 503 && response.status != 409)
    })
    .await;
    placed.assert_placed();
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_in_the_commit_is_503_and_the_retry_gets_the_outcome() {
    use diesel_async::SimpleAsyncConnection;
    let (bench, proxy) = distant().await;
    let mut owner = bench.database.owner().await;
    let slow = "CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$; \
                CREATE CONSTRAINT TRIGGER wait_in_commit AFTER INSERT ON placed \
                  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_in_commit()";
    owner.batch_execute(slow).await.unwrap();
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (lost, ()) = tokio::join!(bench.place(KEY, order(1)), async {
        bench.in_flight().await;
        proxy.cut().await;
    });
    assert!(lost.refuses(503, "commit-outcome-unknown").retryable);
    proxy.mend();
    owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    let retry = eventually("the truth is known", async || {
        Some(bench.place(KEY, order(1)).await).filter(|response| response.status == 201)
    })
    .await;
    assert!(retry.is_replay());
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_error_is_500_without_details_and_the_key_stays_unused() {
    let bench = Bench::start().await;
    for mistake in ["fail", "panic"] {
        let problem = bench.place(KEY, noted(mistake)).await.refuses(500, "internal-error");
        assert!(problem.retryable, "{problem:?}");
        bench.assert_untouched().await;
    }
    let placed = eventually("the key is free", async || {
        Some(bench.place(KEY, order(1)).await).filter(|response| response.status != 409)
    })
    .await;
    placed.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn contention_that_does_not_end_is_503() {
    let bench = Bench::start().await;
    let problem = bench.place(KEY, noted("contend")).await.refuses(503, "service-unavailable");
    assert!(problem.retryable, "{problem:?}");
    bench.assert_untouched().await;
    bench.place(KEY, order(1)).await.assert_placed();
}
