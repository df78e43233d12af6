//! Automatic refunds that the processor refuses for a reason that passes.

use serde_json::{Value, json};

use crate::processor::Fate;
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk, policy};

/// The refusal of a refund that our balance at the processor does not cover.
pub(crate) fn balance_insufficient() -> Fate {
    let error = json!({ "type": "invalid_request_error", "code": "balance_insufficient" });
    Fate::Refused(400, json!({ "error": error }))
}

/// Returns the rows that the SQL audits of refunds list.
pub(crate) async fn audited(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    for audit in [
        include_str!("../../audits/a_call_belongs_to_one_command.sql"),
        include_str!("../../audits/a_resolved_review_has_its_fact.sql"),
        include_str!("../../audits/refunds_stay_within_the_capture.sql"),
        include_str!("../../audits/the_ledger_says_what_happened.sql"),
    ] {
        found.extend(stage.texts(audit.trim().trim_end_matches(';')).await);
    }
    found
}

/// A captured payment whose order is cancelled, and whose refund is refused this often.
async fn refused(stage: &Stage, times: usize) -> Order {
    stage.processor.order([Fate::Answered]);
    stage.processor.order(vec![balance_insufficient(); times]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    order
}

#[tokio::test]
async fn an_automatic_refund_is_made_again_after_a_refusal_that_passes() {
    let stage = Stage::new().await;
    let order = refused(&stage, 2).await;
    assert_eq!(stage.refunds(order).await, ["failed", "failed", "succeeded"]);
    assert_eq!(stage.processor.refunds(), [AMOUNT], "the money is refunded once");
    let keys: Vec<String> = stage.processor.posted()[1..].iter().map(|it| it.key().to_owned()).collect();
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2], "{keys:?}");
    let announced: Vec<(String, Value)> = stage.announced(order).await;
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefunded"]);
    let last = stage.text("SELECT id::text FROM refund WHERE state = 'succeeded'").await;
    assert_eq!(announced[1].1["refund"], json!(last));
    assert_eq!(stage.reviews().await, [""; 0]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    let chain = "SELECT concat_ws(' ', next.try_number, next.cause, failed.failure_code) FROM refund AS next
                   JOIN refund AS failed ON failed.id = next.follows ORDER BY next.try_number";
    let expected = [2, 3].map(|number| format!("{number} order_cancelled balance_insufficient"));
    assert_eq!(stage.texts(chain).await, expected);
    assert_eq!(stage.count("SELECT count(*) FROM ledger_transaction WHERE kind = 'refund'").await, 1);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn after_the_last_try_the_failure_is_announced_and_a_review_is_opened() {
    let stage = Stage::new().await;
    let order = refused(&stage, 3).await;
    assert_eq!(stage.refunds(order).await, ["failed"; 3]);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured", "PaymentRefundFailed"]);
    assert_eq!(stage.reviews().await, ["refund_failed"]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 0);
    assert_eq!(stage.processor.refunds(), [0; 0]);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn while_a_refund_waits_for_its_next_try_its_amount_stays_reserved() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Answered, balance_insufficient()]);
    let order = stage.request(VISA).await;
    let mut patient = policy();
    patient.retries.backoff.first = std::time::Duration::from_hours(1);
    patient.retries.backoff.longest = std::time::Duration::from_hours(24);
    let worker = stage.worker_with(patient, brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    testkit::eventually("a second try", async || {
        (stage.refunds(order).await == ["failed", "pending"]).then_some(())
    })
    .await;
    worker.stop().await;
    let waits = "SELECT count(*) FROM processor_call WHERE sent_since IS NULL
                    AND due_at BETWEEN now() + interval '50 minutes' AND now() + interval '1 hour'";
    assert_eq!(stage.count(waits).await, 1);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn a_refund_is_followed_once() {
    let stage = Stage::new().await;
    refused(&stage, 1).await;
    let again = "INSERT INTO refund (id, tenant_id, payment_id, cause, amount, follows, try_number)
                 SELECT gen_random_uuid(), tenant_id, payment_id, cause, amount, follows, try_number
                   FROM refund WHERE follows IS NOT NULL";
    let error = stage.attempt(again).await.unwrap_err().to_string();
    assert!(error.contains("refund_follows_key"), "{error}");
    let second = "INSERT INTO refund (id, tenant_id, payment_id, cause, amount)
                  SELECT gen_random_uuid(), tenant_id, payment_id, cause, amount FROM refund WHERE follows IS NULL";
    let error = stage.attempt(second).await.unwrap_err().to_string();
    assert!(error.contains("refund_automatic"), "{error}");
}
