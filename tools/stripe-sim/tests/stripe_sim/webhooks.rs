//! Webhooks: each event is delivered, signed, at least once; under a fault late, twice or out of order.

use std::collections::BTreeSet;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use stripe_sim::Timing;
use testkit::eventually;

use crate::listener::{Listener, ReceivedWebhook};
use crate::simulator::{Simulator, TestResponse, VISA, read};

const SECRET: &str = "whsec_canary";

/// A simulator with short delays, and a listener for its webhooks.
async fn with_listener() -> (Simulator, Listener) {
    let timing = Timing {
        bank_delay: Duration::from_millis(200),
        webhook_retry: Duration::from_millis(50),
        ..Timing::default()
    };
    let (sim, listener) = (Simulator::with(timing).await, Listener::start().await);
    let set = endpoint(&sim, &json!({ "url": listener.url, "secret": SECRET })).await;
    assert_eq!(set.json()["endpoints"], json!([listener.url]));
    assert!(!String::from_utf8(set.bytes).unwrap().contains("whsec_"));
    (sim, listener)
}

async fn endpoint(sim: &Simulator, json: &Value) -> TestResponse {
    read(sim.client.post(sim.url("/_webhooks")).body(json.to_string())).await.unwrap()
}

fn kinds(received: &[ReceivedWebhook]) -> Vec<String> {
    received.iter().map(ReceivedWebhook::kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_delivered_in_order_and_signed() {
    let (sim, listener) = with_listener().await;
    let intent = sim.charge("c", "pm_card_refundFail", 1000).await.json();
    let refund = sim.refund("r", intent["id"].as_str().unwrap(), 400).await.json();
    let received = listener.wait_for(5).await;
    assert_eq!(
        kinds(&received).into_iter().collect::<BTreeSet<_>>(),
        ["charge.refunded", "payment_intent.succeeded", "refund.created", "refund.failed", "refund.updated"]
            .map(str::to_owned)
            .into()
    );
    // Those of one object come in their order.
    let of_refund: Vec<String> = received
        .iter()
        .filter(|received| received.event()["data"]["object"]["id"] == refund["id"])
        .map(ReceivedWebhook::kind)
        .collect();
    assert_eq!(of_refund, ["refund.created", "refund.updated", "refund.failed"]);

    let first = received.iter().find(|received| received.kind() == "payment_intent.succeeded").unwrap();
    let event = first.event();
    assert_eq!((&event["object"], &event["data"]["object"]), (&json!("event"), &intent));
    assert_eq!(event["request"]["idempotency_key"], "c");
    let id = event["id"].as_str().unwrap();
    assert_eq!(sim.get(&format!("/v1/events/{id}")).await.json()["data"], event["data"]);
    let listed = sim.get("/v1/events?type=refund.failed").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);

    let parts: Vec<&str> = first.signature.split(',').collect();
    assert_eq!(parts.len(), 2);
    let time = parts[0].strip_prefix("t=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{time}.{}", first.body).as_bytes());
    let given = parts[1].strip_prefix("v1=").unwrap();
    let bytes: Vec<u8> =
        (0..given.len()).step_by(2).map(|at| u8::from_str_radix(&given[at..at + 2], 16).unwrap()).collect();
    mac.verify_slice(&bytes).expect("the signature is this secret's");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_and_a_cancelled_intent_are_announced() {
    let (sim, listener) = with_listener().await;
    let declined = sim.charge("c", "pm_card_chargeDeclined", 1000).await;
    let id = declined.error("payment_intent")["id"].as_str().unwrap().to_owned();
    sim.post(&format!("/v1/payment_intents/{id}/cancel"), Some("x"), &[]).await;
    sim.charge("p", "pm_card_idem_processing", 1000).await;
    let received = listener.wait_for(4).await;
    let expected = [
        "payment_intent.canceled",
        "payment_intent.payment_failed",
        "payment_intent.processing",
        "payment_intent.succeeded",
    ];
    assert_eq!(kinds(&received).into_iter().collect::<BTreeSet<_>>(), expected.map(str::to_owned).into());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_not_acknowledged_is_delivered_again() {
    let (sim, listener) = with_listener().await;
    listener.respond_with(&[500, 302, 404]);
    sim.charge("c", VISA, 1000).await;
    let received = listener.wait_for(4).await;
    assert_eq!(received.iter().map(|received| received.status).collect::<Vec<_>>(), [500, 302, 404, 200]);
    let ids: BTreeSet<String> = received.iter().map(|received| received.event()["id"].to_string()).collect();
    assert_eq!(ids.len(), 1, "the same event each time");
    eventually("the delivery is over", async || {
        let open = "SELECT count(*) AS number FROM delivery WHERE delivered_at IS NULL";
        (sim.number(open).await == 0).then_some(())
    })
    .await;
    assert_eq!(sim.number("SELECT attempts::bigint AS number FROM delivery").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_committed_with_its_cause_or_not_at_all() {
    use diesel_async::SimpleAsyncConnection;

    let sim = Simulator::start().await;
    let mut owner = sim.database.owner().await;
    owner.batch_execute("REVOKE INSERT ON event FROM idem_service").await.unwrap();
    assert_eq!(sim.charge("k", VISA, 100).await.status, 500);
    assert_eq!(sim.paid().await, 0);
    owner.batch_execute("GRANT INSERT ON event TO idem_service").await.unwrap();
    assert_eq!(sim.charge("k", VISA, 100).await.status, 200);
    assert_eq!(sim.number("SELECT count(*) AS number FROM event").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_delivers_an_event_twice_or_late() {
    let (sim, listener) = with_listener().await;
    sim.rules(json!([
        { "kinds": ["duplicate_webhook"], "event": "payment_intent.succeeded" },
        { "kinds": ["late_webhook"], "event": "refund.created", "delay_ms": 700 },
    ]))
    .await;
    let intent = sim.charge("c", VISA, 1000).await.id();
    let twice = listener.wait_for(2).await;
    assert_eq!(twice[0].event()["id"], twice[1].event()["id"]);
    sim.refund("r", &intent, 100).await;
    let received = listener.wait_for(4).await;
    assert_eq!(
        kinds(&received)[2..],
        ["charge.refunded", "refund.created"],
        "the first of the two came last"
    );
    let state = sim.faults(Method::GET, "").await.json();
    assert_eq!(
        (&state["bites"]["duplicate_webhook"], &state["bites"]["late_webhook"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_disorders_events_and_loses_none() {
    let (sim, listener) = with_listener().await;
    sim.rules(json!([{ "kinds": ["disordered_webhooks"], "delay_ms": 2000 }])).await;
    let mut made = Vec::new();
    for n in 0..12 {
        made.push(sim.charge(&format!("c-{n}"), VISA, 100 + n).await.id());
    }
    let received = listener.wait_for(12).await;
    let announced: Vec<String> = received
        .iter()
        .map(|received| received.event()["data"]["object"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_ne!(announced, made);
    assert_eq!(announced.iter().collect::<BTreeSet<_>>(), made.iter().collect::<BTreeSet<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_webhook_endpoint_is_refused() {
    let sim = Simulator::start().await;
    for wrong in [
        json!({ "url": "https://127.0.0.1/", "secret": "whsec_canary" }),
        json!({ "url": "here", "secret": "whsec_canary" }),
        json!({ "url": "http://127.0.0.1:1/", "secrets": ["whsec_canary"] }),
    ] {
        let refused = endpoint(&sim, &wrong).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(!String::from_utf8(refused.bytes).unwrap().contains("canary"), "the secret was repeated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_for_an_endpoint_that_was_removed_is_given_up() {
    let (sim, listener) = with_listener().await;
    sim.rules(json!([{ "kinds": ["late_webhook"], "delay_ms": 500 }])).await;
    sim.charge("c", VISA, 1000).await;
    read(sim.client.delete(sim.url("/_webhooks"))).await.unwrap();
    let due = "SELECT count(*) AS number FROM delivery WHERE due_at IS NOT NULL";
    eventually("no delivery is due", async || (sim.number(due).await == 0).then_some(())).await;
    let set = endpoint(&sim, &json!({ "url": listener.url, "secret": SECRET })).await;
    assert_eq!(set.json()["endpoints"], json!([listener.url]));
    sim.rules(json!([])).await;
    sim.charge("d", VISA, 2000).await;
    let received = listener.wait_for(1).await;
    assert_eq!(received[0].event()["data"]["object"]["amount"], 2000, "the first one is not delivered later");
}
