//! Faults by rule: every kind does what it says, where it was asked for, and a seed repeats itself.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::simulator::{Simulator, TestResponse, VISA, charge_form};

const CREATE: &str = "POST /v1/payment_intents";

async fn charge_for(sim: &Simulator, reference: &str) -> reqwest::Result<TestResponse> {
    let mut form = charge_form(VISA, "100");
    form[7] = ("metadata[reference]", reference);
    sim.try_post("/v1/payment_intents", Some(reference), &form).await
}

async fn bites(sim: &Simulator, kind: &str) -> i64 {
    sim.faults(Method::GET, "").await.json()["bites"][kind].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_charge_has_no_effect_and_its_key_is_free() {
    let sim = Simulator::start().await;
    for (kind, status, error) in [
        ("error_before", 500, "api_error"),
        ("rate_limit", 429, "invalid_request_error"),
        ("conflict", 409, "idempotency_error"),
        ("outage", 503, "api_error"),
    ] {
        sim.rules(json!([{ "kinds": [kind], "times": 1 }])).await;
        let paid = sim.paid().await;
        let failed = sim.charge(kind, VISA, 100).await;
        assert_eq!((failed.status, failed.error("type")), (status, error.into()), "{kind}");
        assert_eq!(failed.headers["stripe-should-retry"], "true");
        assert_eq!(failed.headers.get("retry-after").is_some_and(|value| value == "1"), kind == "rate_limit");
        assert_eq!(sim.paid().await, paid);
        let again = sim.charge(kind, VISA, 100).await;
        assert_eq!((again.status, again.is_replay()), (200, false), "{kind}");
        assert_eq!(bites(&sim, kind).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_500_after_the_charge_is_stored_and_the_charge_remains() {
    let sim = Simulator::start().await;
    sim.rules(json!([{ "kinds": ["error_after"], "route": CREATE, "times": 1 }])).await;
    let failed = charge_for(&sim, "r").await.unwrap();
    assert_eq!((failed.status, failed.is_replay()), (500, false));
    assert_eq!(sim.paid().await, 1);
    let again = charge_for(&sim, "r").await.unwrap();
    assert_eq!((again.status, again.is_replay()), (500, true), "the key remembers the failure");
    assert_eq!(again.headers["stripe-should-retry"], "false");
    assert_eq!(sim.paid().await, 1);
    let found = sim.get("/v1/payment_intents").await.json();
    assert_eq!(found["data"][0]["status"], "succeeded", "and the list knows better");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_response_breaks_off_and_the_retry_reads_it_whole() {
    let sim = Simulator::start().await;
    sim.rules(json!([{ "kinds": ["truncate"], "times": 1 }])).await;
    let response = sim
        .client
        .post(sim.url("/v1/payment_intents"))
        .bearer_auth("sk_test_1")
        .header("Idempotency-Key", "k")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(serde_urlencoded::to_string(charge_form(VISA, "100")).unwrap())
        .send()
        .await
        .expect("its head arrives");
    assert_eq!(response.status(), 200);
    response.bytes().await.expect_err("its body does not");
    let whole = sim.charge("k", VISA, 100).await;
    assert!(whole.is_replay());
    assert_eq!(sim.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_applies_to_its_reference_on_every_route() {
    let sim = Simulator::start().await;
    let (mine, other) =
        (charge_for(&sim, "mine").await.unwrap().id(), charge_for(&sim, "other").await.unwrap().id());
    sim.rules(json!([{ "kinds": ["error_before"], "reference": "mine" }])).await;
    for (intent, status) in [(&mine, 500), (&other, 200)] {
        assert_eq!(sim.get(&format!("/v1/payment_intents/{intent}")).await.status, status);
        assert_eq!(sim.refund(&format!("r-{intent}"), intent, 10).await.status, status);
    }
    assert_eq!(sim.get("/v1/payment_intents").await.status, 200, "a list has no reference");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fault_of_a_call_depends_on_seed_reference_and_number_alone() {
    let rules = json!([{
        "kinds": ["error_before", "error_after", "rate_limit", "conflict"], "share": 0.3, "route": CREATE,
    }]);
    let mut runs = Vec::new();
    for run in 0..2 {
        let sim = Simulator::start().await;
        sim.rules(rules.clone()).await;
        let mut seen: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        // The second run asks in another order, and for others in between.
        let mut numbers: Vec<usize> = (0..40).collect();
        if run == 1 {
            numbers.reverse();
        }
        for call in 0..3 {
            for number in &numbers {
                let reference = format!("order {number}");
                let status = charge_for(&sim, &reference).await.unwrap().status;
                seen.entry(reference).or_default().push(status);
                if run == 1 && call == 0 {
                    charge_for(&sim, &format!("another {number}")).await.unwrap();
                }
            }
        }
        let state = sim.faults(Method::GET, "").await.json();
        let bitten: i64 = state["bites"].as_object().unwrap().values().filter_map(Value::as_i64).sum();
        assert_eq!(state["rules"][0]["bites"], bitten);
        runs.push(seen);
    }
    assert_eq!(runs[0], runs[1]);
    // The first call meets a fault, or is executed.
    let hit = runs[0].values().filter(|statuses| statuses[0] != 200).count();
    assert!((4..=20).contains(&hit), "{hit} of 40 first calls met a fault with a share of 0.3");
}
