//! Tenants: no client reads or replays the data of another tenant.

use reqwest::Method;
use serde_json::Value;
use testkit::identity;

use crate::bench::{Bench, KEY, SCOPES, json_body, noted, order, send};
use crate::response::TestResponse;
use diesel_async::SimpleAsyncConnection;

async fn place_as(bench: &Bench, tenant: &str, client: &str, body: String) -> TestResponse {
    let token = identity::token(tenant, client, SCOPES);
    let request = bench.request_as(&token, Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
    send(json_body(request, body)).await
}

async fn as_tenant(bench: &Bench, tenant: &str, method: Method, path: &str) -> TestResponse {
    let token = identity::token(tenant, "web-shop", SCOPES);
    let request = bench.request_as(&token, method, path).header("Idempotency-Key", KEY);
    send(json_body(request, "{}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_of_others_is_a_new_key() {
    let bench = Bench::start().await;
    let mine = place_as(&bench, "acme", "web-shop", order(1)).await;
    mine.assert_placed();
    for (tenant, client) in [("globex", "web-shop"), ("acme", "call-centre"), ("acm", "eweb-shop")] {
        let other = place_as(&bench, tenant, client, order(2)).await;
        other.assert_placed();
        assert_ne!(other.body, mine.body);
    }
    place_as(&bench, "acme", "web-shop", order(1)).await.assert_replays(&mine);
    bench.assert_orders(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_flight_reveals_nothing_to_other_tenants() {
    let bench = Bench::start().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let (mine, ()) = tokio::join!(place_as(&bench, "acme", "web-shop", noted("wait")), async {
        bench.in_flight().await;
        place_as(&bench, "globex", "web-shop", order(1)).await.assert_placed();
        owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    });
    mine.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_order_is_404() {
    let bench = Bench::start().await;
    let mine = place_as(&bench, "acme", "web-shop", order(1)).await;
    let path = mine.header("location").unwrap().to_owned();
    let nobodys = "/v1/orders/0190a5c4-7e3b-7abc-8def-0123456789ab";
    // The response equals the one for an order that does not exist.
    for (method, suffix) in [(Method::GET, ""), (Method::POST, "/cancel")] {
        let theirs = as_tenant(&bench, "globex", method.clone(), &format!("{path}{suffix}")).await;
        theirs.refuses(404, "not-found");
        let missing = as_tenant(&bench, "hooli", method, &format!("{nobodys}{suffix}")).await;
        assert_eq!((theirs.status, theirs.without_id()), (missing.status, missing.without_id()));
    }
    let theirs = as_tenant(&bench, "globex", Method::GET, "/v1/orders").await;
    assert_eq!(theirs.json()["data"], Value::Array(Vec::new()));
    // The other tenant's order is unchanged.
    let mine = as_tenant(&bench, "acme", Method::GET, &path).await;
    assert_eq!((mine.status, &mine.json()["cancelled"]), (200, &Value::Bool(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_named_in_the_request_is_ignored() {
    let bench = Bench::start().await;
    let token = identity::token("globex", "web-shop", SCOPES);
    let request = bench.request_as(&token, Method::POST, "/v1/orders?tenant=acme&tenant_id=acme");
    let request =
        request.header("Idempotency-Key", KEY).header("X-Tenant-Id", "acme").header("X-Tenant", "acme");
    send(json_body(request, order(1))).await.assert_placed();
    let globex = "SELECT count(*) AS number FROM placed WHERE tenant_id = 'globex'";
    assert_eq!(bench.number(globex).await, 1);
    // The body cannot name a tenant either.
    let problem = place_as(&bench, "globex", "another", r#"{"lines":[],"tenant":"acme"}"#.to_owned()).await;
    assert_eq!(problem.refuses(400, "request-invalid").pointers, ["/tenant"]);
}
