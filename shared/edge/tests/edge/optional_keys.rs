//! A command whose key is optional.

use reqwest::Method;

use crate::bench::{Bench, Table, json_body, key, order, send};
use crate::shop;

const DRAFTS: &str = "/v1/drafts";

#[tokio::test(flavor = "multi_thread")]
async fn with_an_optional_key_a_command_is_executed_once() {
    let bench = Bench::start().await;
    let key = key();
    let first = send(bench.command(DRAFTS, &key, order(1))).await;
    let again = send(bench.command(DRAFTS, &key, order(1))).await;
    assert_eq!((first.status, again.status), (201, 201), "{first:?} {again:?}");
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.body, again.body);
    send(bench.command(DRAFTS, &key, order(2))).await.refuses(409, "idempotency-key-reused");
    send(bench.command(DRAFTS, "no-uuid", order(1))).await.refuses(400, "idempotency-key-invalid");
    bench.assert_orders(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_optional_key_each_request_is_executed_and_leaves_no_record() {
    let bench = Bench::start().await;
    let draft = || json_body(bench.request(Method::POST, DRAFTS), order(1));
    for _ in 0..2 {
        let response = send(draft()).await;
        assert_eq!((response.status, response.header("idempotency-status")), (201, None), "{response:?}");
    }
    send(draft().header("If-Match", "\"1\"")).await.refuses(400, "request-invalid");
    bench.assert_orders(2).await;
    assert_eq!(bench.count(Table::Records).await, 0);
}

#[test]
fn each_command_declares_whether_it_takes_a_key() {
    let document = edge::with_problems(&shop::document(), &[]);
    let declared = |path: &str, method: &str| {
        let operation = &document["paths"][path][method];
        let key = operation["parameters"]
            .as_array()
            .and_then(|all| all.iter().find(|parameter| parameter["name"] == "Idempotency-Key"));
        (operation["x-idempotency-key"].as_str(), key.map(|key| key["required"] == true))
    };
    assert_eq!(declared("/v1/orders", "post"), (Some("required"), Some(true)));
    assert_eq!(declared(DRAFTS, "post"), (Some("optional"), Some(false)));
    assert_eq!(declared("/v1/items/{sku}", "put"), (Some("unsupported"), None));
    assert_eq!(declared("/v1/orders", "get"), (None, None));
    let drafts = &document["paths"][DRAFTS]["post"]["responses"];
    let bad_request = drafts["400"]["description"].as_str().unwrap();
    assert!(bad_request.contains("key-invalid") && !bad_request.contains("key-missing"), "{bad_request}");
    assert_eq!(drafts["409"]["$ref"], "#/components/responses/KeyConflict");
}
