//! The cancellation of an order in each state of its payment.

use serde_json::json;

use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

#[tokio::test]
async fn a_payment_cancelled_before_its_first_attempt_sends_no_request() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    // A second payment. When it has ended, a worker that still had the first one would have sent it.
    let other = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(other, "captured").await;
    worker.stop().await;
    assert_eq!(stage.state(order).await, "cancelled");
    assert_eq!(stage.announced_types(order).await, ["PaymentCancelled"]);
    assert_eq!(stage.processor.received().len(), 1);
}

#[tokio::test]
async fn a_capture_that_lands_after_the_cancellation_is_refunded_once() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(1).await;
    stage.cancel(order).await;
    assert_eq!(stage.state(order).await, "capturing");
    assert_eq!(stage.announced_types(order).await, Vec::<String>::new());

    stage.processor.release();
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!((stage.processor.charges(), stage.processor.refunds()), (vec![AMOUNT], vec![AMOUNT]));
    assert_eq!(stage.refunds(order).await, ["succeeded"]);
    let announced = stage.announced(order).await;
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
    assert_eq!(announced[1].1["amount"], json!({ "amount": AMOUNT, "currency": "EUR" }));
    assert_eq!(stage.facts().await, ["payment.charge", "payment.refund"]);
}

#[tokio::test]
async fn a_decline_that_lands_after_the_cancellation_owes_nothing() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    let order = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(1).await;
    stage.cancel(order).await;
    stage.processor.release();
    stage.becomes(order, "declined").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.refunds(order).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_charge_with_an_unknown_outcome_is_retried_and_then_refunded() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Lost, held()]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(2).await;
    assert_eq!(stage.state(order).await, "unknown");
    stage.cancel(order).await;
    assert_eq!(stage.state(order).await, "unknown");
    stage.processor.release();
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!((stage.processor.charges(), stage.processor.refunds()), (vec![AMOUNT], vec![AMOUNT]));
}

#[tokio::test]
async fn an_attempt_that_was_not_executed_is_not_repeated_after_the_cancellation() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Held(Box::new(Fate::Refused(429, json!({}))))]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(1).await;
    stage.cancel(order).await;
    stage.processor.release();
    stage.becomes(order, "cancelled").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.received().len(), 1);
    assert_eq!(stage.announced_types(order).await, ["PaymentCancelled"]);
}

#[tokio::test]
async fn a_captured_payment_is_refunded_once_however_often_the_cancellation_is_delivered() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.refunds(order).await, ["succeeded"]);
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
    assert_eq!(stage.facts().await, ["payment.charge", "payment.refund"]);
}

#[tokio::test]
async fn a_payment_that_was_not_captured_is_not_refunded() {
    let stage = Stage::new().await;
    let declined = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(declined, "declined").await;
    worker.stop().await;
    let cancelled = stage.request(VISA).await;
    let never_asked = Order::new();
    for order in [declined, cancelled, cancelled, never_asked] {
        stage.cancel(order).await;
    }
    assert_eq!(stage.announced_types(declined).await, ["PaymentDeclined"]);
    assert_eq!(stage.announced_types(cancelled).await, ["PaymentCancelled"]);
    assert_eq!(stage.count("SELECT count(*) FROM refund").await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM payment").await, 2);
}

#[tokio::test]
async fn a_refund_whose_reply_is_lost_gives_back_once() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Answered, Fate::Lost, Fate::Refused(503, json!({}))]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    let received = stage.processor.received();
    assert_eq!(received.len(), 4);
    for again in &received[2..] {
        assert_eq!((again.key(), &again.body), (received[1].key(), &received[1].body));
    }
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    assert_eq!(stage.refunds(order).await, ["succeeded"]);
}

#[tokio::test]
async fn a_refund_that_the_processor_refuses_has_failed_and_claims_nothing() {
    let stage = Stage::new().await;
    let error = json!({ "error": { "type": "invalid_request_error", "code": "charge_already_refunded" } });
    stage.processor.order([Fate::Answered, Fate::Refused(400, error)]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.refunds(order).await, ["failed"]);
    assert_eq!(stage.text("SELECT failure_code FROM refund").await, "charge_already_refunded");
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 0);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefundFailed"]);
}
