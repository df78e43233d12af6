//! Intents in several steps: captured later, declined, or decided by the bank later.

use std::time::Duration;

use serde_json::json;
use stripe_sim::Timing;
use testkit::eventually;

use crate::simulator::{Simulator, TestResponse, VISA};

async fn create(sim: &Simulator, key: &str, more: &[(&str, &str)]) -> TestResponse {
    let form = [&[("amount", "1000"), ("currency", "eur")], more].concat();
    sim.post("/v1/payment_intents", Some(key), &form).await
}

async fn step(sim: &Simulator, id: &str, step: &str, form: &[(&str, &str)]) -> TestResponse {
    sim.post(&format!("/v1/payment_intents/{id}/{step}"), None, form).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorised_amount_is_captured_in_part_and_refunded_up_to_that() {
    let sim = Simulator::start().await;
    let manual = [("payment_method", VISA), ("confirm", "true"), ("capture_method", "manual")];
    let held = create(&sim, "k", &manual).await;
    assert_eq!(
        (&held.json()["status"], &held.json()["amount_capturable"]),
        (&json!("requires_capture"), &json!(1000))
    );
    let id = held.id();
    assert_eq!(sim.refund("r-0", &id, 1).await.status, 400, "nothing was captured yet");

    let too_much = step(&sim, &id, "capture", &[("amount_to_capture", "1001")]).await;
    assert_eq!((too_much.status, too_much.error("code")), (400, "amount_too_large".into()));
    let captured = step(&sim, &id, "capture", &[("amount_to_capture", "600")]).await;
    assert_eq!(
        (&captured.json()["status"], &captured.json()["amount_received"]),
        (&json!("succeeded"), &json!(600))
    );
    assert_eq!(step(&sim, &id, "capture", &[]).await.status, 400);
    assert_eq!(sim.refund("r-1", &id, 601).await.status, 400);
    assert_eq!(sim.refund("r-2", &id, 600).await.status, 200);

    let second = create(&sim, "k-2", &manual).await.id();
    assert_eq!(step(&sim, &second, "cancel", &[]).await.json()["status"], "canceled");
    assert_eq!(step(&sim, &second, "capture", &[]).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_card_that_is_declined_says_why() {
    let sim = Simulator::start().await;
    for (card, code, decline_code) in [
        ("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
        ("pm_card_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_authenticationRequired", "authentication_required", "authentication_required"),
    ] {
        let declined = sim.charge(card, card, 100).await;
        assert_eq!((declined.status, declined.error("code")), (402, code.into()), "{card}");
        assert_eq!(declined.error("decline_code").as_str().unwrap_or_default(), decline_code, "{card}");
        let intent = declined.error("payment_intent");
        assert_eq!(intent["last_payment_error"]["message"], declined.error("message"));
        assert_eq!(intent["status"], "requires_payment_method");
        let path = format!(
            "/v1/payment_intents/{}?expand[]=latest_charge.balance_transaction",
            intent["id"].as_str().unwrap()
        );
        let charge = sim.get(&path).await.json()["latest_charge"].clone();
        assert_eq!(charge["id"], declined.error("charge"));
        assert_eq!((&charge["status"], &charge["failure_code"]), (&json!("failed"), &json!(code)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_bank_decides_later() {
    let sim = Simulator::with(Timing { bank_delay: Duration::from_millis(300), ..Timing::default() }).await;
    for (card, end) in [
        ("pm_card_idem_processing", "succeeded"),
        ("pm_card_idem_processing_declined", "requires_payment_method"),
    ] {
        let processing = sim.charge(card, card, 1000).await;
        assert_eq!(processing.json()["status"], "processing");
        let path = format!("/v1/payment_intents/{}", processing.id());
        assert_eq!(
            sim.post(&format!("{path}/cancel"), None, &[]).await.status,
            400,
            "the bank has it in hand"
        );
        let ended = eventually("the bank's decision", async || {
            let intent = sim.get(&path).await.json();
            (intent["status"] != "processing").then_some(intent)
        })
        .await;
        assert_eq!(ended["status"], end, "{card}");
        // The key still says what was answered then.
        assert_eq!(sim.charge(card, card, 1000).await.json()["status"], "processing");
    }
    assert_eq!(sim.paid().await, 1);
    assert_eq!(sim.number("SELECT sum(net)::bigint AS number FROM balance_transaction").await, 1000 - 59);
}
