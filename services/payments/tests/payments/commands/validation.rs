//! Invalid requests: refused with the JSON pointer of the error, and not stored.

use serde_json::{Value, json};

use super::{LONG, SCOPES, client, key, part, visa, whole};
use crate::stage::{Stage, TENANT};

fn changed(pointer: &str, value: Value) -> Value {
    let mut charge = visa();
    *charge.pointer_mut(pointer).unwrap() = value;
    charge
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_charge_is_refused_with_the_pointer() {
    let stage = Stage::new().await;
    let client = client(&stage, LONG).await;
    let mut more = visa();
    more["capture"] = json!(true);
    let long = "a".repeat(201);
    let cases = [
        ("/amount/amount", changed("/amount/amount", json!(0))),
        ("/amount/amount", changed("/amount/amount", json!(-1))),
        ("/amount/amount", changed("/amount/amount", json!(1_000_000_000_001_i64))),
        ("/amount/amount", changed("/amount/amount", json!(1.5))),
        ("/amount/amount", changed("/amount/amount", json!("1999"))),
        ("/amount/currency", changed("/amount/currency", json!("XXX"))),
        ("/amount/currency", changed("/amount/currency", json!("eur"))),
        ("/payment_method", changed("/payment_method", json!("4242424242424242"))),
        ("/payment_method", changed("/payment_method", json!("pm_4242424242424242"))),
        ("/payment_method", changed("/payment_method", json!("4242 4242 4242 4242"))),
        ("/reference", changed("/reference", json!(""))),
        ("/reference", changed("/reference", json!(null))),
        ("/reference", changed("/reference", json!(long))),
        ("/reference", changed("/reference", json!("card 4242 4242 4242 4242"))),
        ("/capture", more),
        ("", json!({ "amount": { "amount": 1, "currency": "EUR" } })),
    ];
    for (pointer, charge) in cases {
        let response = client.charge(&key(), &charge).await;
        response.refuses(400, "request-invalid");
        assert_eq!(response.json()["errors"][0]["pointer"], pointer, "{charge}");
        assert!(
            !response.json().to_string().contains("4242"),
            "the card number is repeated: {}",
            response.json()
        );
    }
    for table in ["payment", "processor_call", "idempotency_record", "idempotency_operation", "audit_fact"] {
        assert_eq!(stage.count(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_refund_is_refused_with_the_pointer() {
    let stage = Stage::new().await;
    let client = client(&stage, LONG).await;
    let cases = [
        ("/amount", json!({ "reason": "broken", "amount": null })),
        ("/amount/amount", part(0)),
        ("/amount/amount", part(-5)),
        ("/amount/amount", part(1_000_000_000_001)),
        ("/reason", json!({ "reason": "" })),
        ("/reason", json!({ "reason": "a".repeat(201) })),
        ("/reason", json!({ "reason": "wrong card 4242424242424242" })),
        ("", json!({})),
        ("/why", json!({ "reason": "broken", "why": "" })),
    ];
    for (pointer, refund) in cases {
        let response = client.refund(&key(), &key(), &refund).await;
        response.refuses(400, "request-invalid");
        assert_eq!(response.json()["errors"][0]["pointer"], pointer, "{refund}");
    }
    assert_eq!(stage.count("SELECT count(*) FROM idempotency_record").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_needs_its_own_scope() {
    let stage = Stage::new().await;
    let client = client(&stage, LONG).await;
    let post = reqwest::Method::POST;
    let (charge, refund, key) = (visa().to_string(), whole().to_string(), key());
    for (path, body, scope) in [
        ("/v1/payments".to_owned(), &charge, "payments:write"),
        (format!("/v1/payments/{key}/refunds"), &refund, "payments:refund"),
    ] {
        let others = SCOPES.replace(scope, "");
        let response = client.send((TENANT, &others), post.clone(), &path, Some((&key, body))).await;
        response.refuses(403, "forbidden");
    }
    for path in ["/v1/refunds", "/v1/refunds/0190a5c4-7e3b-7abc-8def-0123456789ab"] {
        let get = reqwest::Method::GET;
        client.send((TENANT, "payments:write"), get, path, None).await.refuses(403, "forbidden");
    }
}
