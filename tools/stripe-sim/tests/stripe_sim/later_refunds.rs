//! Refunds that do not end when they are made.

use std::time::Duration;

use serde_json::{Value, json};
use stripe_sim::Timing;
use testkit::eventually;

use crate::simulator::Simulator;

async fn quick() -> Simulator {
    Simulator::with(Timing { bank_delay: Duration::from_millis(300), ..Timing::default() }).await
}

/// Waits until the refund has this status.
async fn becomes(sim: &Simulator, id: &str, status: &str) -> Value {
    eventually(&format!("a refund that is {status}"), async || {
        let refund = sim.get(&format!("/v1/refunds/{id}")).await.json();
        (refund["status"] == status).then_some(refund)
    })
    .await
}

async fn balance(sim: &Simulator) -> i64 {
    sim.number("SELECT sum(amount)::bigint AS number FROM balance_transaction").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_refund_succeeds_later() {
    let sim = quick().await;
    let intent = sim.charge("c", "pm_card_pendingRefund", 1000).await.id();
    let pending = sim.refund("r", &intent, 400).await.json();
    assert_eq!((&pending["status"], &pending["balance_transaction"]), (&json!("pending"), &Value::Null));
    assert_eq!(sim.refund("r-2", &intent, 601).await.status, 400, "what is pending is promised");
    let refund = becomes(&sim, pending["id"].as_str().unwrap(), "succeeded").await;
    assert!(refund["balance_transaction"].as_str().unwrap().starts_with("txn_"));
    let moved =
        "SELECT net AS number FROM balance_transaction WHERE type = 'refund' AND amount = -400 AND fee = 0";
    assert_eq!((sim.number(moved).await, balance(&sim).await), (-400, 600));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_succeeded_is_returned_by_the_bank() {
    let sim = quick().await;
    let intent = sim.charge("c", "pm_card_refundFail", 1000).await.id();
    let refund = sim.refund("r", &intent, 1000).await.json();
    assert_eq!((&refund["status"], &refund["failure_reason"]), (&json!("succeeded"), &Value::Null));
    assert_eq!(balance(&sim).await, 0);
    let failed = becomes(&sim, refund["id"].as_str().unwrap(), "failed").await;
    assert_eq!(failed["failure_reason"], "expired_or_canceled_card");
    assert!(failed["failure_balance_transaction"].as_str().unwrap().starts_with("txn_"));
    assert_eq!(balance(&sim).await, 1000);
    // What did not arrive may be asked for again.
    assert_eq!(sim.refund("r-2", &intent, 1000).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_refund_fails_without_touching_the_balance() {
    let sim = quick().await;
    let intent = sim.charge("c", "pm_card_idem_refund_pending_fails", 1000).await.id();
    let refund = sim.refund("r", &intent, 1000).await.id();
    let failed = becomes(&sim, &refund, "failed").await;
    assert_eq!(
        (&failed["balance_transaction"], &failed["failure_balance_transaction"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(balance(&sim).await, 1000);
}
