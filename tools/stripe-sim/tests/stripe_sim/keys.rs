//! Idempotency keys: each key has one response, stored together with its effect.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use futures_util::future::join_all;
use stripe_sim::Timing;
use testkit::eventually;

use crate::simulator::{Simulator, TestResponse, VISA, charge_form, post_to};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_charges_once_under_twenty_parallel_requests() {
    let sim = Simulator::start().await;
    let responses = join_all((0..20).map(|_| sim.charge("k-1", VISA, 1999))).await;

    assert_eq!(sim.paid().await, 1);
    let first: Vec<&TestResponse> = responses.iter().filter(|a| a.status == 200 && !a.is_replay()).collect();
    assert_eq!(first.len(), 1, "one request made the charge");
    for response in &responses {
        match response.status {
            200 => assert_eq!(response.bytes, first[0].bytes),
            409 => {
                assert_eq!(response.error("type"), "idempotency_error");
                assert_eq!(response.error("code"), "idempotency_key_in_use");
            }
            other => panic!("{other}: {}", response.json()),
        }
    }
    let later = sim.charge("k-1", VISA, 1999).await;
    assert!(later.is_replay());
    assert_eq!(later.bytes, first[0].bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_in_progress_is_refused_and_two_processes_charge_once() {
    let sim = Simulator::start().await;
    let second = sim.second();
    let elsewhere = format!("http://{}/v1/payment_intents", second.address);
    let form = charge_form(VISA, "500");
    // Both charges wait long enough to be under way at the same time, in two processes that share only the books.
    for url in [sim.url("/_faults"), format!("http://{}/_faults", second.address)] {
        sim.client
            .post(url)
            .body(r#"{"rules": [{"kinds": ["delay"], "delay_ms": 1500}]}"#)
            .send()
            .await
            .unwrap();
    }
    let (here, double, there) = tokio::join!(
        sim.charge("k-2", VISA, 500),
        sim.charge("k-2", VISA, 500),
        post_to(&sim.client, &elsewhere, Some("k-2"), &form),
    );
    let there = there.unwrap();
    assert_eq!(sim.paid().await, 1);
    let mut local = [here.status, double.status];
    local.sort_unstable();
    assert_eq!(local, [200, 409]);
    let here = if here.status == 200 { here } else { double };
    assert_eq!((there.status, &there.bytes), (200, &here.bytes));
    assert_ne!(there.is_replay(), here.is_replay(), "one of the two processes gave way");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_parameters_under_the_same_key_are_refused() {
    let sim = Simulator::start().await;
    let first = sim.charge("k-3", VISA, 1000).await;
    let other = sim.charge("k-3", VISA, 1001).await;
    assert_eq!((other.status, other.error("type")), (400, "idempotency_error".into()));
    assert!(other.error("message").as_str().unwrap().contains("same parameters"));
    assert!(!other.is_replay());

    let refund = sim.refund("k-3", &first.id(), 1).await;
    assert_eq!((refund.status, refund.error("type")), (400, "idempotency_error".into()));
    assert!(refund.error("message").as_str().unwrap().contains("same endpoint"));

    assert_eq!(sim.charge("k-3", VISA, 1000).await.bytes, first.bytes);
    assert_eq!(sim.paid().await, 1);
    assert_eq!(sim.number("SELECT count(*) AS number FROM refund").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_charge_is_stored_and_replayed() {
    let sim = Simulator::start().await;
    for (key, card) in [("k-4", "pm_card_chargeDeclined"), ("k-5", "pm_card_visa_chargeDeclined")] {
        let declined = sim.charge(key, card, 700).await;
        assert_eq!(declined.status, 402);
        assert_eq!(declined.error("type"), "card_error");
        assert_eq!(declined.error("code"), "card_declined");
        assert_eq!(declined.error("decline_code"), "generic_decline");
        let intent = declined.error("payment_intent");
        assert_eq!(intent["status"], "requires_payment_method");
        assert_eq!(intent["last_payment_error"]["code"], "card_declined");

        let again = sim.charge(key, card, 700).await;
        assert!(again.is_replay());
        assert_eq!((again.status, &again.bytes), (402, &declined.bytes));
    }
    assert_eq!(sim.paid().await, 0);
    assert_eq!(sim.number("SELECT count(*) AS number FROM charge WHERE status = 'failed'").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_whose_key_cannot_be_stored_is_not_made() {
    let sim = Simulator::start().await;
    let mut owner = sim.database.owner().await;
    owner.batch_execute("REVOKE INSERT ON idempotency_key FROM idem_service").await.unwrap();
    let failed = sim.charge("k", VISA, 100).await;
    assert_eq!((failed.status, failed.error("type")), (500, "api_error".into()));
    assert_eq!(sim.number("SELECT count(*) AS number FROM charge").await, 0);

    owner.batch_execute("GRANT INSERT ON idempotency_key TO idem_service").await.unwrap();
    let charged = sim.charge("k", VISA, 100).await;
    assert_eq!(charged.status, 200);
    assert!(!charged.is_replay());
    assert_eq!(sim.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_refused_for_its_form_leaves_its_key_unused() {
    let sim = Simulator::start().await;
    let wrong = sim.charge("k-6", VISA, 0).await;
    assert_eq!((wrong.status, wrong.error("param")), (400, "amount".into()));
    let right = sim.charge("k-6", VISA, 50).await;
    assert_eq!(right.status, 200);
    assert!(!right.is_replay());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_every_request_is_a_new_one() {
    let sim = Simulator::start().await;
    for _ in 0..2 {
        let charged = sim.post("/v1/payment_intents", None, &charge_form(VISA, "50")).await;
        assert_eq!(charged.status, 200);
    }
    assert_eq!(sim.paid().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_deleted_after_its_window() {
    let key_window = Duration::from_millis(300);
    let sim = Simulator::with(Timing { key_window, ..Timing::default() }).await;
    let first = sim.charge("k", VISA, 100).await;
    assert!(sim.charge("k", VISA, 100).await.is_replay());
    let second = eventually("the end of the window", async || {
        let response = sim.charge("k", VISA, 100).await;
        (!response.is_replay()).then_some(response)
    })
    .await;
    assert_eq!(second.status, 200);
    assert_ne!(second.id(), first.id(), "a new charge: the key says nothing any more");
    assert_eq!(sim.paid().await, 2);
    // The new window has the new response, even for other parameters than the first request had.
    assert_eq!(sim.number("SELECT count(*) AS number FROM idempotency_key").await, 1);
}
