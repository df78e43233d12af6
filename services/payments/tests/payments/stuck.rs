//! A call whose row became unreadable after its request was sent.

use serde_json::json;
use testkit::eventually;

use crate::listing::operate;
use crate::processor::Fate;
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

const NOT_CAPTURED: [&str; 4] = ["--as", "not-captured", "--note", "I do not see it"];

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
