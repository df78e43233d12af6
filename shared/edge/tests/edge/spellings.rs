//! Spellings of one value: other languages print a whole number with a point, and an id in upper case.

use reqwest::Method;
use serde_json::json;

use crate::bench::{Bench, KEY, json_body, key, order, send};
use crate::response::TestResponse;

fn of_tea(amount: &str) -> String {
    format!(r#"{{"lines":[{{"sku":"TEA","amount":{amount}}}]}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_number_is_accepted_in_every_notation_and_exactly() {
    let bench = Bench::start().await;
    for (spelled, amount) in [
        ("2.0", 2_i64),
        ("2e0", 2),
        ("20e-1", 2),
        ("0.2E+1", 2),
        ("9007199254740993.0", 9_007_199_254_740_993),
        ("922337203685477580.7e1", i64::MAX),
    ] {
        let key = key();
        let placed = bench.place(&key, of_tea(spelled)).await;
        placed.assert_placed();
        assert_eq!(placed.json()["amount"], amount, "{spelled}");
        // The first request and its retry may be spelled differently.
        bench.place(&key, order(amount)).await.assert_replays(&placed);
    }
    for (spelled, price) in [("3.0", 3), ("30e-1", 3)] {
        let body = format!(r#"{{"price":{spelled}}}"#);
        let put = send(json_body(bench.request(Method::PUT, "/v1/items/TEA"), body)).await;
        assert_eq!((put.status, &put.json()["price"]), (200, &json!(price)), "{spelled}");
    }
    assert_eq!(bench.get("/v1/orders?limit=2.0").await.json()["data"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_not_whole_is_refused_in_plain_words() {
    let bench = Bench::start().await;
    let too_large = "expected a whole number within the documented range";
    for (spelled, expected) in [
        ("2.5", "expected a whole number"),
        ("2.0000000000000000001", "expected a whole number"),
        ("1e-1", "expected a whole number"),
        ("9223372036854775808", too_large),
        ("18446744073709551616", too_large),
        ("1e30", too_large),
        ("-1e30", too_large),
    ] {
        let refused = bench.place(KEY, of_tea(spelled)).await;
        assert_eq!(refused.refuses(400, "request-invalid").pointers, ["/lines/0/amount"], "{spelled}");
        assert_eq!(refused.json()["errors"][0]["detail"], expected, "{spelled}");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_not_an_object() {
    let bench = Bench::start().await;
    for (body, pointer) in [
        (r#"[[{"sku":"TEA","amount":1}],null,null]"#, ""),
        (r#"{"lines":[["TEA",1]]}"#, "/lines/0"),
        ("[]", ""),
    ] {
        let refused = bench.place(KEY, body).await;
        assert_eq!(refused.refuses(400, "request-invalid").pointers, [pointer], "{body}");
        assert_eq!(refused.json()["errors"][0]["detail"], "expected an object", "{body}");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_an_id_in_the_path_is_the_same_request() {
    let bench = Bench::start().await;
    let placed = bench.place(&key(), order(1)).await.json();
    let id = placed["id"].as_str().unwrap();
    let cancel = async |id: &str, key: &str| -> TestResponse {
        send(bench.command(&format!("/v1/orders/{id}/cancel"), key, "{}")).await
    };
    let upper = id.to_uppercase();
    for (one, other) in [(id, &upper), (&upper, &id.to_owned()), (id, &id.replace('-', ""))] {
        let key = key();
        let first = cancel(one, &key).await;
        assert_eq!((first.status, first.header("idempotency-status")), (200, Some("executed")), "{one}");
        cancel(other, &key).await.assert_replays(&first);
    }
    assert_eq!(bench.get(&format!("/v1/orders/{upper}")).await.json()["id"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_case_of_a_name_in_the_path_makes_another_request() {
    let bench = Bench::start().await;
    // A SKU may look like an id, and stays a name.
    let sku = "8e03978e-40d5-43e8-bc93-6894a57f9324";
    let price = async |sku: &str| {
        let path = format!("/v1/items/{sku}/price");
        send(bench.command(&path, KEY, r#"{"price":1}"#)).await
    };
    assert_eq!(price(sku).await.header("idempotency-status"), Some("executed"));
    price(&sku.to_uppercase()).await.refuses(409, "idempotency-key-reused");
}
