//! Refunds that the state of the payment forbids, and payments of other tenants.

use reqwest::Method;
use serde_json::json;

use super::{LONG, SCOPES, client, key, part, visa, whole};
use crate::stage::{Stage, TENANT, VISA, brisk};

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_of_another_tenants_payment_is_404_like_an_unknown_one() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let payment = client.charge(&key(), &visa()).await.json()["id"].as_str().unwrap().to_owned();
    let refund = whole().to_string();
    let ask = async |tenant: &str, payment: &str| {
        let path = format!("/v1/payments/{payment}/refunds");
        client.send((tenant, SCOPES), Method::POST, &path, Some((&key(), &refund))).await
    };
    let unknown = ask(TENANT, &key()).await;
    unknown.refuses(404, "not-found");
    for response in [ask("other", &payment).await, ask("other", &key()).await, ask(TENANT, "nonsense").await]
    {
        assert_eq!((response.status, response.without_id()), (404, unknown.without_id()));
    }
    // Another tenant cannot read the payment either.
    let mine = client.refund(&payment, &key(), &part(1)).await.json()["id"].as_str().unwrap().to_owned();
    let read = async |refund: &str| {
        client.send(("other", SCOPES), Method::GET, &format!("/v1/refunds/{refund}"), None).await
    };
    assert_eq!(read(&mine).await.without_id(), read(&key()).await.without_id());
    assert_eq!(stage.processor.refunds(), [1]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orders_payment_is_refundable_once_the_order_is_confirmed() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let order = stage.request(VISA).await;
    let payment = order.payment.to_string();
    stage.becomes(order, "captured").await;
    for _ in 0..2 {
        let response = client.refund(&payment, &refund_key, &part(100)).await;
        response.refuses(409, "payment-unconfirmed");
        assert_eq!(response.header("idempotency-status"), None);
    }
    stage.meddle("UPDATE payment SET confirmed = true").await;
    assert_eq!(client.refund(&payment, &refund_key, &part(100)).await.status, 201);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_is_refunded_automatically_only() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    let response = client.refund(&order.payment.to_string(), &refund_key, &part(100)).await;
    response.refuses(409, "payment-cancelled");
    client.refund(&order.payment.to_string(), &refund_key, &part(100)).await.assert_replays(&response);
    testkit::eventually("the automatic refund", async || {
        (stage.refunds(order).await == ["succeeded"]).then_some(())
    })
    .await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_was_not_captured_cannot_be_refunded() {
    let stage = Stage::new().await;
    let client = client(&stage, LONG).await;
    let waiting = stage.request(VISA).await;
    let response = client.refund(&waiting.payment.to_string(), &key(), &whole()).await;
    response.refuses(409, "payment-not-captured");
    let declined = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(declined, "declined").await;
    client.refund(&declined.payment.to_string(), &key(), &whole()).await.refuses(409, "payment-not-captured");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_has_the_currency_of_its_payment() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let payment = client.charge(&key(), &visa()).await.json()["id"].as_str().unwrap().to_owned();
    let dollars = json!({ "amount": { "amount": 1, "currency": "USD" }, "reason": "broken" });
    client.refund(&payment, &key(), &dollars).await.refuses(422, "refund-currency");
    assert_eq!(stage.processor.refunds(), Vec::<i64>::new());
    worker.stop().await;
}
