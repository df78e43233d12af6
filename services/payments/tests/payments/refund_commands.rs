//! The operators' answers to a failed refund: `payments refund retry`, and a refund made by hand.

use serde_json::{Value, json};

use crate::listing::operate;
use crate::processor::Fate;
use crate::refund_retries::audited;
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk};

const WHY: [&str; 4] = ["--reason", "the dispute is withdrawn", "--by", "dana"];

/// A captured payment of a cancelled order, whose refund the processor has refused for good.
async fn failed(stage: &Stage) -> (Order, String) {
    let error = json!({ "error": { "type": "invalid_request_error", "code": "charge_disputed" } });
    stage.processor.order([Fate::Answered, Fate::Refused(400, error)]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.reviews().await, ["refund_failed"]);
    (order, stage.text("SELECT id::text FROM refund").await)
}

async fn retry(stage: &Stage, refund: &str, more: &[&str]) -> (i32, String) {
    operate(stage, &[&["refund", "retry", refund], &WHY[..], more].concat(), &[]).await
}

/// Runs `payments WORDS` with this stage's processor.
async fn with_processor(stage: &Stage, words: &[&str]) -> (i32, String) {
    let url = stage.processor.url();
    let settings = [("IDEM_PROCESSOR__URL", url.as_str()), ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_canary")];
    operate(stage, words, &settings).await
}

async fn attach(stage: &Stage, object: &str) -> (i32, String) {
    let review = stage.text("SELECT id::text FROM review WHERE reason = 'refund_failed'").await;
    let words = [
        "review",
        "resolve",
        &review,
        "--as",
        "refunded",
        "--reason",
        "made by hand",
        "--by",
        "dana",
        "--refund",
        object,
    ];
    with_processor(stage, &words).await
}

/// A refund of the first charge, made in the dashboard an hour before.
fn by_hand(id: &str) -> Value {
    json!({
        "id": id, "object": "refund", "amount": AMOUNT, "currency": "eur", "status": "succeeded",
        "payment_intent": "pi_1", "metadata": {}, "created": 1_700_000_000,
    })
}

#[tokio::test]
async fn an_operator_has_a_failed_refund_made_again() {
    let stage = Stage::new().await;
    let (order, refund) = failed(&stage).await;
    let (code, text) = retry(&stage, &refund, &["--dry-run"]).await;
    assert_eq!((code, text.contains("dry run")), (0, true), "{text}");
    assert_eq!(stage.refunds(order).await, ["failed"]);

    let (code, text) = retry(&stage, &refund, &[]).await;
    assert_eq!(code, 0, "{text}");
    let next = stage.text("SELECT id::text FROM refund WHERE follows IS NOT NULL").await;
    assert!(text.contains(&next), "{text}");
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    let review = "SELECT concat_ws(' ', resolution, resolved_by, note) FROM review";
    assert_eq!(stage.text(review).await, "retried @operator:dana the dispute is withdrawn");
    let facts = "SELECT concat_ws(' ', action, actor, subject_id, details ->> 'reason') FROM audit_fact
                  WHERE action = 'refund.retry'";
    assert_eq!(
        stage.texts(facts).await,
        [format!("refund.retry @operator:dana {refund} the dispute is withdrawn")]
    );

    let (code, text) = retry(&stage, &refund, &[]).await;
    let says = text.contains(&format!("refund {next} follows it already, and is pending"));
    assert_eq!((code, says), (1, true), "{text}");
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.refunds(order).await, ["failed", "succeeded"]);
    let announced = ["PaymentCaptured", "PaymentRefundFailed", "PaymentRefunded"];
    assert_eq!(stage.announced_types(order).await, announced);
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn a_retry_that_could_pay_twice_is_refused() {
    let stage = Stage::new().await;
    let (order, refund) = failed(&stage).await;
    stage.meddle("UPDATE payment SET refund_reserved = 1").await;
    let (code, text) = retry(&stage, &refund, &[]).await;
    assert_eq!((code, text.contains("of 19.99 EUR, 19.98 EUR can still be refunded")), (1, true), "{text}");
    stage.meddle("UPDATE payment SET refund_reserved = 0").await;
    let review = stage.text("SELECT id::text FROM review").await;
    let paid = [
        "review",
        "resolve",
        &review,
        "--as",
        "refunded",
        "--reason",
        "paid by bank transfer",
        "--by",
        "dana",
    ];
    assert_eq!(operate(&stage, &paid, &[]).await.0, 0);
    let (code, text) = retry(&stage, &refund, &[]).await;
    assert_eq!((code, text.contains("the payer has the money back")), (1, true), "{text}");
    stage.meddle("UPDATE refund SET state = 'pending', failure_code = NULL").await;
    let (code, text) = retry(&stage, &refund, &[]).await;
    assert_eq!((code, text.contains("it is pending; only a failed refund")), (1, true), "{text}");
    let (code, text) = retry(&stage, "00000000-0000-0000-0000-000000000001", &[]).await;
    assert_eq!((code, text.contains("there is no refund")), (1, true), "{text}");
    assert_eq!(stage.refunds(order).await, ["pending"]);
}

#[tokio::test]
async fn of_two_concurrent_retries_one_makes_the_refund() {
    let stage = Stage::new().await;
    let (order, refund) = failed(&stage).await;
    let (one, other) = tokio::join!(retry(&stage, &refund, &[]), retry(&stage, &refund, &[]));
    assert_eq!(one.0 + other.0, 1, "{} {}", one.1, other.1);
    assert!(format!("{}{}", one.1, other.1).contains("follows it already"), "{} {}", one.1, other.1);
    assert_eq!(stage.refunds(order).await, ["failed", "pending"]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    assert_eq!(audited(&stage).await, [""; 0]);
}

#[tokio::test]
async fn a_refund_made_by_hand_is_recorded_like_one_that_succeeded() {
    let stage = Stage::new().await;
    let (order, _) = failed(&stage).await;
    stage.processor.insert(by_hand("re_hand"));
    let (code, text) = attach(&stage, "re_hand").await;
    assert_eq!((code, text.contains("was not refunded and is refunded now")), (0, true), "{text}");
    assert_eq!(stage.refunds(order).await, ["failed", "succeeded"]);
    let announced = ["PaymentCaptured", "PaymentRefundFailed", "PaymentRefunded"];
    assert_eq!(stage.announced_types(order).await, announced);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    assert_eq!(stage.count("SELECT count(*) FROM ledger_transaction WHERE kind = 'refund'").await, 1);
    assert_eq!(stage.text("SELECT resolution FROM review").await, "refunded");
    assert_eq!(audited(&stage).await, [""; 0]);
    let (code, text) = attach(&stage, "re_hand").await;
    assert_eq!((code, text.contains("nothing changed")), (0, true), "{text}");

    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    assert_eq!(stage.processor.refunds(), [0; 0], "its request is never sent");
    // A webhook requests a lookup. The lookup finds the object by its id, because the object has no tag.
    stage.wake().await;
    stage.is_at_rest().await;
    assert_eq!(stage.refunds(order).await, ["failed", "succeeded"]);
    assert_eq!(stage.reviews().await, ["refund_failed"]);
    stage.processor.amend("refund", "status", &json!("failed"));
    stage.wake().await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.refunds(order).await, ["failed", "failed"], "a bank has returned it");
    assert_eq!(stage.reviews().await, ["refund_failed", "refund_returned"]);
}

#[tokio::test]
async fn the_reconciliation_knows_an_attached_refund() {
    let stage = Stage::new().await;
    failed(&stage).await;
    stage.processor.insert(by_hand("re_hand"));
    let reconcile = ["reconcile", "--since", "1h", "--json"];
    let (code, text) = with_processor(&stage, &reconcile).await;
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["counts"]["refunds"]["missing_here"]), (1, &json!(1)), "{text}");
    assert_eq!(attach(&stage, "re_hand").await.0, 0);
    let (code, text) = with_processor(&stage, &reconcile).await;
    let report: Value = serde_json::from_str(&text).unwrap();
    let refunds = &report["counts"]["refunds"];
    assert_eq!((code, &refunds["missing_here"], &refunds["matched"]), (0, &json!(0), &json!(1)), "{text}");
}

#[tokio::test]
async fn an_object_that_is_not_the_owed_refund_is_not_attached() {
    let stage = Stage::new().await;
    let (order, refund) = failed(&stage).await;
    let with = |id: &str, member: &str, value: Value| {
        let mut object = by_hand(id);
        object[member] = value;
        object
    };
    let ours = json!({ "reference": "another refund", "deployment": "test" });
    for (object, expected) in [
        (with("re_charge", "payment_intent", json!("pi_2")), "it refunds another charge (pi_2)"),
        (with("re_amount", "amount", json!(AMOUNT - 1)), "it did not refund 19.99 EUR"),
        (with("re_currency", "currency", json!("usd")), "it did not refund 19.99 EUR"),
        (with("re_pending", "status", json!("pending")), "the processor says processing"),
        (with("re_ours", "metadata", ours), "it is a refund of this service"),
    ] {
        let id = object["id"].as_str().unwrap().to_owned();
        stage.processor.insert(object);
        let (code, text) = attach(&stage, &id).await;
        assert_eq!((code, text.contains(expected)), (1, true), "{id}: {text}");
    }
    let (code, text) = attach(&stage, "re_unknown").await;
    assert_eq!((code, text.contains("the processor has no refund re_unknown")), (1, true), "{text}");
    stage.processor.insert(by_hand("re_held"));
    stage.meddle(&format!("UPDATE refund SET processor_refund = 're_held' WHERE id = '{refund}'")).await;
    let (code, text) = attach(&stage, "re_held").await;
    assert_eq!((code, text.contains("another payment or refund has this processor id")), (1, true), "{text}");
    assert_eq!(stage.refunds(order).await, ["failed"]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM review WHERE resolution IS NOT NULL").await, 0);
}
