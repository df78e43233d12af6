//! Calls that fail with an error of their own: the row became unreadable after the request was sent, or the result cannot be
//! recorded, because an operator took the object of one call for that of another.

use payments::WorkerSettings;
use serde_json::json;
use testkit::eventually;

use crate::listing::operate;
use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

const NOT_CAPTURED: [&str; 6] = ["--as", "not-captured", "--reason", "I do not see it", "--by", "dana"];

/// A charge whose reply was lost, with a row that no release can read, and its review.
async fn sent_and_stuck(stage: &Stage) -> (Order, String) {
    stage.processor.order([Fate::Lost]);
    let order = stage.request(VISA).await;
    stage.meddle("CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.currency = 'XXX'; RETURN NEW; END $$").await;
    stage.meddle("CREATE TRIGGER spoil BEFORE UPDATE ON payment FOR EACH ROW EXECUTE FUNCTION spoil()").await;
    let worker = stage.worker(brisk());
    eventually("a review", async || (stage.reviews().await == ["cannot_be_taken"]).then_some(())).await;
    worker.stop().await;
    stage.meddle("DROP TRIGGER spoil ON payment").await;
    (order, stage.text("SELECT id::text FROM review").await)
}

#[tokio::test]
async fn a_charge_that_was_sent_and_cannot_be_taken_is_not_resolved_as_not_captured_before_a_lookup() {
    let stage = Stage::new().await;
    let (order, review) = sent_and_stuck(&stage).await;
    assert_eq!(stage.text("SELECT details->>'sent' FROM review").await, "true");
    let resolve = [&["review", "resolve", &review], &NOT_CAPTURED[..]].concat();
    let (code, text) = operate(&stage, &resolve, &[]).await;
    assert_eq!(
        (code, text.contains("a request was sent, and no lookup has ended since")),
        (1, true),
        "{text}"
    );

    // The row is repaired, and the processor says what happened.
    stage.meddle("UPDATE payment SET currency = 'EUR'").await;
    stage.meddle("UPDATE processor_call SET due_at = clock_timestamp()").await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn a_charge_that_cannot_be_taken_is_resolved_as_not_captured_after_a_lookup_found_nothing() {
    let stage = Stage::new().await;
    let (order, review) = sent_and_stuck(&stage).await;
    stage.meddle("UPDATE processor_call SET look_ups = 1").await;
    let resolve = [&["review", "resolve", &review], &NOT_CAPTURED[..]].concat();
    assert_eq!(operate(&stage, &resolve, &[]).await.0, 0);
    assert_eq!(stage.state(order).await, "declined");
    assert_eq!(stage.announced(order).await[0].1["code"], json!("by_review"));
}

impl Stage {
    /// Resolves the open review of a call that was never made, with the object of another call.
    async fn mistake(&self, object: &str, resolution: &str) {
        let review = self.text("SELECT id::text FROM review WHERE resolution IS NULL").await;
        let found = [
            "--as",
            resolution,
            "--processor-id",
            object,
            "--reason",
            "it looks like this one",
            "--by",
            "dana",
        ];
        let (code, text) = operate(self, &[&["review", "resolve", &review], &found[..]].concat(), &[]).await;
        assert_eq!(code, 0, "{text}");
    }

    /// Waits for the review of a result that cannot be recorded. Returns its subject, the object, and whether a request was sent.
    async fn unrecorded(&self) -> String {
        let review = "SELECT concat_ws(' ', subject, subject_id, details->>'object', details->>'sent')
                      FROM review WHERE reason = 'cannot_be_taken'";
        eventually("a review", async || self.texts(review).await.pop()).await
    }
}

#[tokio::test]
async fn a_capture_that_cannot_be_recorded_opens_a_review_and_delays_no_other_call() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::FailedForEver { acted: false }]);
    let mistaken = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;

    // The next charge is made, and its response is lost.
    stage.processor.order([Fate::FailedForEver { acted: true }, held()]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(WorkerSettings { look_up_concurrency: 1, ..brisk() });
    stage.processor.has_received(7).await;
    stage.mistake("pi_2", "captured").await;
    stage.processor.release();
    let posted = stage.processor.posted().len();
    let another = stage.request("pm_card_processing").await;
    eventually("another charge", async || (stage.processor.posted().len() > posted).then_some(())).await;
    stage.processor.amend("payment_intent", "amount_received", &json!(AMOUNT));
    stage.processor.amend("payment_intent", "status", &json!("succeeded"));
    stage.becomes(another, "captured").await;
    assert_eq!(stage.unrecorded().await, format!("payment {} pi_2 true", order.payment));
    assert_eq!((stage.state(order).await, stage.announced(order).await), ("unknown".to_owned(), vec![]));

    // The mistake is repaired, and the worker records the capture by itself.
    let repair = format!("UPDATE payment SET processor_intent = 'pi_1' WHERE id = '{}'", mistaken.payment);
    stage.meddle(&repair).await;
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn a_refund_that_cannot_be_recorded_opens_a_review() {
    let stage = Stage::new().await;
    let [mistaken, order] = [stage.captured("pi_1").await, stage.captured("pi_2").await];
    stage.processor.order([Fate::FailedForEver { acted: false }]);
    stage.cancel(mistaken).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;

    stage.processor.order([Fate::FailedForEver { acted: true }, held()]);
    stage.cancel(order).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(7).await;
    stage.mistake("re_2", "refunded").await;
    stage.processor.release();
    let refund =
        stage.text(&format!("SELECT id::text FROM refund WHERE payment_id = '{}'", order.payment)).await;
    assert_eq!(stage.unrecorded().await, format!("refund {refund} re_2 true"));
    assert_eq!(stage.refunds(order).await, ["unknown"]);

    stage.meddle("UPDATE refund SET processor_refund = 're_1' WHERE state = 'succeeded'").await;
    eventually("a refund", async || (stage.refunds(order).await == ["succeeded"]).then_some(())).await;
    worker.stop().await;
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
}
