//! Refunds that the processor accepts first and ends later.

use serde_json::json;
use testkit::eventually;

use crate::processor::Fate;
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

/// A captured payment whose order is cancelled, so its refund is pending.
async fn refunded(stage: &Stage) -> Order {
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    order
}

async fn refund_becomes(stage: &Stage, order: Order, state: &str) {
    eventually(&format!("a refund that is {state}"), async || {
        (stage.refunds(order).await == [state]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pending_refund_is_looked_up_and_not_sent_again() {
    for (status, state) in [("succeeded", "succeeded"), ("failed", "failed")] {
        let stage = Stage::new().await;
        stage.processor.behaves("pending", true);
        let worker = stage.worker(brisk());
        let order = refunded(&stage).await;
        stage.processor.has_been_looked_at(3).await;
        assert_eq!(stage.refunds(order).await, ["pending"]);
        stage.processor.amend("refund", "status", &json!(status));
        refund_becomes(&stage, order, state).await;
        stage.is_at_rest().await;
        worker.stop().await;
        assert_eq!(stage.processor.refunds(), [AMOUNT]);
        assert!(stage.processor.looked_up()[0].path.starts_with("/v1/refunds/re_"));
        let reserved = stage.count("SELECT refund_reserved AS count FROM payment").await;
        let announced = if state == "failed" { "PaymentRefundFailed" } else { "PaymentRefunded" };
        assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", announced]);
        let (left, reviews) = if state == "failed" { (0, vec!["refund_failed"]) } else { (AMOUNT, vec![]) };
        assert_eq!(
            (reserved, stage.reviews().await),
            (left, reviews.into_iter().map(str::to_owned).collect())
        );
    }
}

#[tokio::test]
async fn a_lost_refund_is_found_among_its_payments() {
    let stage = Stage::new().await;
    let worker = stage.worker(brisk());
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    stage.processor.order([Fate::FailedForEver { acted: true }]);
    stage.cancel(order).await;
    refund_becomes(&stage, order, "succeeded").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    let asked = stage.processor.looked_up().remove(0);
    assert_eq!((asked.path.as_str(), asked.asked("payment_intent")), ("/v1/refunds", Some("pi_1")));
}

#[tokio::test]
async fn a_refund_that_a_bank_returns_has_failed_and_frees_its_amount() {
    let stage = Stage::new().await;
    let worker = stage.worker(brisk());
    let order = refunded(&stage).await;
    refund_becomes(&stage, order, "succeeded").await;
    stage.is_at_rest().await;
    let named = stage.text("SELECT processor_refund FROM refund").await;
    stage.processor.amend("refund", "failure_reason", &json!("lost_or_stolen_card"));
    stage.processor.amend("refund", "status", &json!("failed"));
    assert_eq!(stage.refunds(order).await, ["succeeded"], "no webhook has arrived");
    stage.wake().await;
    refund_becomes(&stage, order, "failed").await;
    stage.is_at_rest().await;
    worker.stop().await;
    let failed = stage.text("SELECT concat_ws(' ', failure_code, processor_refund) FROM refund").await;
    assert_eq!(failed, format!("lost_or_stolen_card {named}"));
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 0);
    assert_eq!(stage.reviews().await, ["refund_returned"]);
    let announced = ["PaymentCaptured", "PaymentRefunded", "PaymentRefundFailed"];
    assert_eq!(stage.announced_types(order).await, announced);
    assert_eq!(stage.processor.refunds(), [AMOUNT], "it is not given back again by itself");
}
