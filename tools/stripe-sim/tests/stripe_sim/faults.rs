//! Faults on demand: each one bites, is counted, and ends.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use testkit::eventually;
use tokio::io::AsyncReadExt;

use crate::simulator::{Simulator, VISA, read};

const NO_REPLY: &str = "pm_card_idem_charged_no_reply";

#[tokio::test(flavor = "multi_thread")]
async fn the_dropped_reply_has_charged_once_and_the_retry_reads_it() {
    let sim = Simulator::start().await;
    let mut received = Vec::new();
    sim.send_charge("k", NO_REPLY).await.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"", "not a byte of the response");
    assert_eq!(sim.paid().await, 1);

    let retried = sim.charge("k", NO_REPLY, 100).await;
    assert_eq!((retried.status, &retried.json()["status"]), (200, &json!("succeeded")));
    assert!(retried.is_replay());
    assert_eq!(sim.paid().await, 1);
    let state = sim.faults(Method::GET, "").await.json();
    assert_eq!(state["bites"]["pm_card_idem_charged_no_reply"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_are_dropped_as_often_as_the_rule_says() {
    let sim = Simulator::start().await;
    sim.rules(json!([{ "kinds": ["drop_reply"], "times": 2 }])).await;
    for key in ["k-1", "k-2"] {
        sim.try_charge(key, VISA, 100).await.expect_err("the connection is dropped");
    }
    assert_eq!(sim.charge("k-3", VISA, 100).await.status, 200);
    for key in ["k-1", "k-2"] {
        assert!(sim.charge(key, VISA, 100).await.is_replay());
    }
    assert_eq!(sim.paid().await, 3);
    let state = sim.faults(Method::GET, "").await.json();
    assert_eq!((&state["rules"][0]["bites"], &state["bites"]["drop_reply"]), (&json!(2), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_without_balance_is_refused_under_its_key_and_made_under_another_one() {
    let sim = Simulator::start().await;
    let charged = sim.charge("k", VISA, 100).await.json();
    let intent = charged["id"].as_str().unwrap();
    let rule = json!([{ "kinds": ["balance_insufficient"], "route": "POST /v1/refunds", "times": 1 }]);
    sim.rules(rule).await;
    for is_replay in [false, true] {
        let refused = sim.refund("r-1", intent, 100).await;
        assert_eq!((refused.status, refused.error("code")), (400, "balance_insufficient".into()));
        assert_eq!(refused.is_replay(), is_replay);
    }
    assert_eq!(sim.refund("r-2", intent, 100).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_refuses_everything_and_executes_nothing() {
    let sim = Simulator::start().await;
    sim.rules(json!([{ "kinds": ["outage"] }])).await;
    let refused = sim.charge("k", VISA, 100).await;
    assert_eq!((refused.status, refused.error("type")), (503, "api_error".into()));
    assert_eq!(sim.get("/v1/refunds").await.status, 503);
    assert_eq!(sim.faults(Method::GET, "").await.json()["bites"]["outage"], 2);

    let cleared = sim.faults(Method::DELETE, "").await.json();
    assert_eq!((&cleared["rules"], &cleared["bites"]["outage"]), (&json!([]), &json!(0)));
    let charged = sim.charge("k", VISA, 100).await;
    assert_eq!(charged.status, 200);
    assert!(!charged.is_replay());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_charge_is_in_flight_and_then_made() {
    let sim = Simulator::start().await;
    sim.rules(json!([{ "kinds": ["delay"], "delay_ms": 400, "times": 1 }])).await;
    let start = Instant::now();
    assert_eq!(sim.charge("k", VISA, 100).await.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(400));
    assert!(sim.charge("k", VISA, 100).await.is_replay());
    assert_eq!(sim.faults(Method::GET, "").await.json()["bites"]["delay"], 1);
}

/// Waits until the slow card's charge has begun.
async fn in_flight(sim: &Simulator) {
    eventually("the charge in flight", async || {
        let state = sim.faults(Method::GET, "").await.json();
        (state["bites"]["pm_card_idem_slow"] == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_runs_to_its_end_although_its_client_has_gone() {
    let sim = Simulator::start().await;
    let client = sim.send_charge("k", "pm_card_idem_slow").await;
    in_flight(&sim).await;
    // A reset: at a mere close, the handler would be kept anyway.
    client.set_zero_linger().unwrap();
    drop(client);
    assert_eq!(sim.paid().await, 0, "the charge is in flight, not made");
    let busy = sim.charge("k", "pm_card_idem_slow", 100).await;
    assert_eq!((busy.status, busy.error("code")), (409, "idempotency_key_in_use".into()));
    eventually("the charge", async || (sim.paid().await == 1).then_some(())).await;
    let read = eventually("the response", async || {
        let response = sim.charge("k", "pm_card_idem_slow", 100).await;
        (response.status == 200).then_some(response)
    })
    .await;
    assert!(read.is_replay());
    assert_eq!(sim.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_that_does_not_exist_is_refused() {
    let sim = Simulator::start().await;
    for wrong in [
        r#"{"rulez": []}"#,
        r#"{"rules": [{"kinds": []}]}"#,
        r#"{"rules": [{"kinds": ["flood"]}]}"#,
        r#"{"rules": [{"kinds": ["delay", "late_webhook"]}]}"#,
        r#"{"rules": [{"kinds": ["delay"], "delay_ms": 60001}]}"#,
        r#"{"rules": [{"kinds": ["delay"], "share": 1.1}]}"#,
        r#"{"rules": [{"kinds": ["delay"], "route": "POST /v1/payment_intent"}]}"#,
        r#"{"rules": [{"kinds": ["delay"], "event": "refund.created"}]}"#,
        r#"{"rules": [{"kinds": ["disconnect"]}]}"#,
        r#"{"rules": [{"kinds": ["late_webhook"], "route": "POST /v1/refunds"}]}"#,
        "[]",
        "",
    ] {
        assert_eq!(sim.faults(Method::POST, wrong).await.status, 400, "{wrong}");
    }
    assert_eq!(sim.faults(Method::GET, "").await.json()["rules"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_reads_and_changes_neither_faults_nor_receivers() {
    let sim = Simulator::start().await;
    for (path, body) in [
        ("/_faults", json!({ "rules": [{ "kinds": ["outage"] }] })),
        ("/_webhooks", json!({ "url": "http://127.0.0.1:9/hook", "secret": "whsec_canary" })),
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            for origin in ["https://page.example", "null"] {
                let request = sim.client.request(method.clone(), sim.url(path)).body(body.to_string());
                let refused = read(request.header("Origin", origin)).await.unwrap();
                assert_eq!(refused.status, 403, "{method} {path} {origin}");
                assert!(refused.error("message").as_str().unwrap().contains("without the header Origin"));
            }
        }
    }
    assert_eq!(sim.faults(Method::GET, "").await.json()["rules"], json!([]));
    assert_eq!(sim.get("/_webhooks").await.json()["endpoints"], json!([]));
}
