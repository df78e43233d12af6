//! Intents: created, charged, read and cancelled.

use serde_json::json;

use crate::simulator::{Simulator, VISA};

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_intent_is_charged_and_can_be_read() {
    let sim = Simulator::start().await;
    let charged = sim.charge("k", VISA, 1999).await;
    assert_eq!(charged.status, 200);
    let intent = charged.json();
    assert_eq!(intent["object"], "payment_intent");
    assert_eq!(intent["status"], "succeeded");
    assert_eq!((&intent["amount"], &intent["amount_received"]), (&json!(1999), &json!(1999)));
    assert_eq!(intent["currency"], "eur");
    assert_eq!(intent["metadata"], json!({ "reference": "order 7" }));
    assert!(intent["id"].as_str().unwrap().starts_with("pi_"));
    assert!(intent["latest_charge"].as_str().unwrap().starts_with("ch_"));
    let age =
        "SELECT abs(extract(epoch FROM clock_timestamp())::bigint - created) AS number FROM payment_intent";
    assert!(sim.number(age).await < 60, "created is the database's present, in seconds");

    let read = sim.get(&format!("/v1/payment_intents/{}", charged.id())).await;
    assert_eq!((read.status, read.json()), (200, intent));
    assert!(read.headers["request-id"].to_str().unwrap().starts_with("req_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_card_is_refused_and_nothing_is_charged() {
    let sim = Simulator::start().await;
    let refused = sim.charge("k", "pm_card_nobody", 100).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.error("type"), "invalid_request_error");
    assert_eq!(refused.error("code"), "resource_missing");
    assert_eq!(refused.error("param"), "payment_method");
    assert_eq!(sim.number("SELECT count(*) AS number FROM payment_intent").await, 0);
    assert!(sim.charge("k", "pm_card_nobody", 100).await.is_replay());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intent_that_was_not_charged_is_cancelled_once() {
    let sim = Simulator::start().await;
    let declined = sim.charge("k-1", "pm_card_chargeDeclined", 100).await;
    let id = declined.error("payment_intent")["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/payment_intents/{id}/cancel");
    let reason = [("cancellation_reason", "requested_by_customer")];

    let canceled = sim.post(&path, Some("k-2"), &reason).await;
    assert_eq!(canceled.status, 200);
    assert_eq!(canceled.json()["status"], "canceled");
    assert_eq!(canceled.json()["cancellation_reason"], "requested_by_customer");
    assert!(canceled.json()["canceled_at"].as_i64().unwrap() >= canceled.json()["created"].as_i64().unwrap());
    assert!(sim.post(&path, Some("k-2"), &reason).await.is_replay());

    let again = sim.post(&path, Some("k-3"), &[]).await;
    assert_eq!((again.status, again.error("code")), (400, "payment_intent_unexpected_state".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charged_intent_cannot_be_cancelled() {
    let sim = Simulator::start().await;
    let charged = sim.charge("k-1", VISA, 100).await;
    let path = format!("/v1/payment_intents/{}/cancel", charged.id());
    let refused = sim.post(&path, Some("k-2"), &[]).await;
    assert_eq!((refused.status, refused.error("code")), (400, "payment_intent_unexpected_state".into()));
    assert_eq!(refused.error("payment_intent")["status"], "succeeded");
    assert_eq!(sim.get(&format!("/v1/payment_intents/{}", charged.id())).await.json()["status"], "succeeded");
}
