//! Refunds that do not end when they are made.

use std::time::Duration;

use serde_json::{Value, json};
use stripe_sim::Pace;
use testkit::eventually;

use crate::bench::{Bench, VISA};

async fn quick() -> Bench {
    Bench::with(Pace { bank_delay: Duration::from_millis(300), ..Pace::default() }).await
}

/// Waits until the refund has this status.
async fn becomes(bench: &Bench, id: &str, status: &str) -> Value {
    eventually(&format!("a refund that is {status}"), async || {
        let refund = bench.get(&format!("/v1/refunds/{id}")).await.json();
        (refund["status"] == status).then_some(refund)
    })
    .await
}

async fn balance(bench: &Bench) -> i64 {
    bench.books("SELECT sum(amount)::bigint AS number FROM balance_transaction").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_refund_succeeds_later() {
    let bench = quick().await;
    let intent = bench.charge("c", "pm_card_pendingRefund", 1000).await.id();
    let pending = bench.refund("r", &intent, 400).await.json();
    assert_eq!((&pending["status"], &pending["balance_transaction"]), (&json!("pending"), &Value::Null));
    assert_eq!(bench.refund("r-2", &intent, 601).await.status, 400, "what is pending is promised");
    let refund = becomes(&bench, pending["id"].as_str().unwrap(), "succeeded").await;
    let movement = refund["balance_transaction"].as_str().unwrap();
    let movement = bench.get(&format!("/v1/balance_transactions/{movement}")).await.json();
    assert_eq!(
        (&movement["amount"], &movement["fee"], &movement["type"]),
        (&json!(-400), &json!(0), &json!("refund"))
    );
    assert_eq!(balance(&bench).await, 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_succeeded_is_returned_by_the_bank() {
    let bench = quick().await;
    let intent = bench.charge("c", "pm_card_refundFail", 1000).await.id();
    let refund = bench.refund("r", &intent, 1000).await.json();
    assert_eq!((&refund["status"], &refund["failure_reason"]), (&json!("succeeded"), &Value::Null));
    assert_eq!(balance(&bench).await, 0);
    let failed = becomes(&bench, refund["id"].as_str().unwrap(), "failed").await;
    assert_eq!(failed["failure_reason"], "expired_or_canceled_card");
    assert!(failed["failure_balance_transaction"].as_str().unwrap().starts_with("txn_"));
    assert_eq!(balance(&bench).await, 1000);
    // What did not arrive may be asked for again.
    assert_eq!(bench.refund("r-2", &intent, 1000).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_refund_fails_without_touching_the_balance() {
    let bench = quick().await;
    let intent = bench.charge("c", "pm_card_idem_refund_pending_fails", 1000).await.id();
    let refund = bench.refund("r", &intent, 1000).await.id();
    let failed = becomes(&bench, &refund, "failed").await;
    assert_eq!(
        (&failed["balance_transaction"], &failed["failure_balance_transaction"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(balance(&bench).await, 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_decides_how_a_refund_goes_whatever_its_card() {
    let bench = quick().await;
    bench
        .rules(json!([
            { "kinds": ["refund_fails_later"], "call": 1 },
            { "kinds": ["refund_pending"], "call": 2 },
            { "kinds": ["refund_pending_fails"], "call": 3 },
        ]))
        .await;
    let intent = bench.charge("c", VISA, 1000).await.id();
    let mut refunds = Vec::new();
    for (key, status) in [("r-1", "succeeded"), ("r-2", "pending"), ("r-3", "pending"), ("r-4", "succeeded")]
    {
        let refund = bench.refund(key, &intent, 100).await.json();
        assert_eq!(refund["status"], status, "{key}");
        refunds.push(refund["id"].as_str().unwrap().to_owned());
    }
    for (refund, end) in refunds.iter().zip(["failed", "succeeded", "failed", "succeeded"]) {
        becomes(&bench, refund, end).await;
    }
    assert_eq!(bench.books("SELECT amount_refunded AS number FROM charge").await, 200);
    assert_eq!(balance(&bench).await, 800);
}
