//! Lookups: an object that is found ends the call, and an object that is not found proves nothing.

use std::time::Duration;

use payments::{Backoff, WorkerSettings};
use serde_json::{Value, json};

use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Order, Stage, VISA, brisk, policy};

/// An object at the processor with this reference.
pub(crate) fn object(id: &str, reference: &str, deployment: &str, amount: i64) -> Value {
    json!({
        "id": id, "object": "payment_intent", "amount": amount, "amount_received": amount, "currency": "eur",
        "status": "succeeded", "latest_charge": null,
        "metadata": { "reference": reference, "deployment": deployment },
    })
}

impl Stage {
    /// Requests a lookup of every call, as a webhook does.
    pub(crate) async fn wake(&self) {
        self.meddle(
            "UPDATE processor_call
             SET look_up_requested = true, due_at = CASE WHEN in_flight THEN due_at ELSE clock_timestamp() END",
        )
        .await;
    }

    /// Returns the open reviews.
    pub(crate) async fn reviews(&self) -> Vec<String> {
        self.texts("SELECT reason FROM review ORDER BY opened_at").await
    }

    /// A charge whose key repeats a failure. The second response is held.
    async fn failed_for_ever(&self, acted: bool) -> Order {
        self.processor.order([Fate::FailedForEver { acted }, held()]);
        self.request(VISA).await
    }
}

#[tokio::test]
async fn a_charge_behind_a_stored_failure_is_found() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::FailedForEver { acted: true }]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;

    assert_eq!(stage.processor.charges(), [AMOUNT]);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    let posted = stage.processor.posted();
    assert_eq!(posted.len(), 2, "the failure is the key's own response once it is repeated");
    assert_eq!(posted[0].key(), posted[1].key());
    let asked = stage.processor.looked_up().remove(0);
    let since: i64 = asked.asked("created[gte]").unwrap().parse().unwrap();
    let until: i64 = asked.asked("created[lte]").unwrap().parse().unwrap();
    let sent =
        stage.count("SELECT extract(epoch FROM sent_since)::bigint AS count FROM processor_call").await;
    // Five minutes of clock skew on both sides, and the lease of an attempt.
    assert!((since + 200..until - 300).contains(&sent) && until < sent + 600, "{since} {sent} {until}");
    assert_eq!(stage.reviews().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_charge_that_cannot_be_found_opens_a_review_and_is_never_repeated() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::FailedForEver { acted: false }]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!((stage.processor.posted().len(), stage.processor.looked_up().len()), (2, 3));
    assert_eq!(stage.reviews().await, ["not_found"]);
    assert_eq!(stage.announced(order).await, []);

    // A further lookup request only reads.
    stage.wake().await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.posted().len(), 2);
    assert_eq!(stage.reviews().await, ["not_found"]);
    assert_eq!(stage.processor.charges(), Vec::<i64>::new());
}

#[tokio::test]
async fn a_key_that_the_processor_may_have_forgotten_is_not_used_again() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Lost]);
    let order = stage.request(VISA).await;
    let mut forgotten = policy();
    forgotten.limits.key_life = Duration::ZERO;
    let worker = stage.worker_with(forgotten, brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.posted().len(), 1);
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn a_processing_charge_is_looked_up_until_it_ends() {
    for (status, state) in [("succeeded", "captured"), ("requires_payment_method", "declined")] {
        let stage = Stage::new().await;
        let order = stage.request("pm_card_processing").await;
        let worker = stage.worker(brisk());
        stage.processor.has_been_looked_at(4).await;
        assert_eq!(stage.state(order).await, "unknown");
        stage.processor.amend("payment_intent", "amount_received", &json!(AMOUNT));
        stage.processor.amend("payment_intent", "last_payment_error", &json!({ "type": "card_error" }));
        stage.processor.amend("payment_intent", "status", &json!(status));
        stage.becomes(order, state).await;
        stage.is_at_rest().await;
        worker.stop().await;
        assert_eq!(
            stage.processor.posted().len(),
            1,
            "its key would repeat for ever that it is being processed"
        );
        assert_eq!(stage.processor.looked_up()[0].path, "/v1/payment_intents/pi_1");
        assert_eq!(stage.reviews().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_list_that_lags_behind_is_read_again() {
    let stage = Stage::new().await;
    let lags = [Fate::FailedForEver { acted: true }, Fate::Answered, Fate::ListLags, Fate::ListLags];
    stage.processor.order(lags);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.looked_up().len(), 3);
    assert_eq!(stage.reviews().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_outage_does_not_count_as_a_lookup_that_found_nothing() {
    let stage = Stage::new().await;
    let outage = (0..10).map(|_| Fate::Refused(503, json!({})));
    stage.processor.order([Fate::FailedForEver { acted: true }, Fate::Answered].into_iter().chain(outage));
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.looked_up().len(), 11);
    assert_eq!(stage.reviews().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_and_only_objects_with_both_tags_are_ours() {
    let stage = Stage::new().await;
    let order = stage.failed_for_ever(true).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(2).await;
    stage.processor.insert(object("pi_a", &order.payment.to_string(), "elsewhere", AMOUNT));
    stage.processor.insert(object("pi_b", "another", "test", AMOUNT));
    stage.processor.insert(object("pi_c", "another", "test", AMOUNT));
    stage.processor.pages_of(1);
    stage.processor.release();
    stage.becomes(order, "captured").await;
    worker.stop().await;
    let pages = stage.processor.looked_up();
    let cursors: Vec<Option<&str>> = pages.iter().map(|page| page.asked("starting_after")).collect();
    assert_eq!(cursors, [None, Some("pi_c"), Some("pi_b"), Some("pi_a")]);
    let taken = stage.text("SELECT processor_intent FROM payment").await;
    assert!(!["pi_a", "pi_b", "pi_c"].contains(&taken.as_str()), "{taken}");
}

#[tokio::test]
async fn an_object_found_twice_or_with_another_amount_opens_a_review() {
    for (found, reason) in [(vec![1], "other_amount"), (vec![AMOUNT, AMOUNT], "contradicted")] {
        let stage = Stage::new().await;
        let order = stage.failed_for_ever(false).await;
        let worker = stage.worker(brisk());
        stage.processor.has_received(2).await;
        for (number, amount) in found.into_iter().enumerate() {
            stage.processor.insert(object(
                &format!("pi_{number}"),
                &order.payment.to_string(),
                "test",
                amount,
            ));
        }
        stage.processor.release();
        stage.is_at_rest().await;
        worker.stop().await;
        assert_eq!(stage.state(order).await, "unknown");
        assert_eq!(stage.reviews().await, [reason]);
        assert_eq!(stage.announced(order).await, []);
    }
}

#[tokio::test]
async fn a_key_that_the_processor_knows_with_another_request_opens_a_review_at_once() {
    let stage = Stage::new().await;
    let mismatch = json!({ "error": { "type": "idempotency_error" } });
    stage.processor.order([Fate::Refused(400, mismatch)]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!(stage.processor.received().len(), 1);
    assert_eq!(stage.reviews().await, ["key_mismatch"]);
}

#[tokio::test]
async fn an_extra_lookup_leaves_the_key_usable() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Refused(503, json!({}))]);
    let order = stage.request(VISA).await;
    let patient = Backoff { first: Duration::from_mins(10), longest: Duration::from_mins(10) };
    let worker = stage.worker(WorkerSettings { backoff: patient, ..brisk() });
    stage.becomes(order, "unknown").await;
    worker.stop().await;
    stage.wake().await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    let methods: Vec<String> = stage.processor.received().into_iter().map(|one| one.method).collect();
    assert_eq!(methods, ["POST", "GET", "POST"]);
}

#[tokio::test]
async fn a_lookup_requested_during_an_attempt_follows_the_attempt() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    stage.processor.order([held()]);
    stage.wake().await;
    stage.processor.has_been_looked_at(1).await;
    stage.wake().await;
    stage.processor.release();
    stage.processor.has_been_looked_at(2).await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.looked_up().len(), 2);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
}

#[tokio::test]
async fn a_denial_after_the_capture_opens_a_review() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    stage.processor.amend("payment_intent", "status", &json!("canceled"));
    stage.wake().await;
    stage.processor.has_been_looked_at(1).await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(
        (stage.state(order).await.as_str(), stage.reviews().await),
        ("captured", vec!["contradicted".to_owned()])
    );
}

#[tokio::test]
async fn an_unconfirmed_intent_is_cancelled_at_the_processor_before_the_payment_is_declined() {
    let stage = Stage::new().await;
    let order = stage.failed_for_ever(false).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(2).await;
    let mut made = object("pi_a", &order.payment.to_string(), "test", AMOUNT);
    (made["status"], made["amount_received"]) = (json!("requires_payment_method"), json!(0));
    stage.processor.insert(made);
    // The first cancellation fails. Until the PaymentIntent is cancelled, the payment must not be declined.
    stage.processor.order([Fate::Answered, Fate::Refused(503, json!({}))]);
    stage.processor.release();
    stage.becomes(order, "declined").await;
    worker.stop().await;
    let cancelled = stage.processor.posted().split_off(2);
    let paths: Vec<&str> = cancelled.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/v1/payment_intents/pi_a/cancel"; 2]);
    assert_eq!(stage.processor.charges(), Vec::<i64>::new());
}

#[tokio::test]
async fn an_unknown_outcome_is_reviewed_in_the_end_although_no_lookup_was_answered() {
    let stage = Stage::new().await;
    stage.processor.order((0..100_000).map(|_| Fate::Refused(503, json!({}))));
    let order = stage.request(VISA).await;
    stage.meddle("UPDATE payment SET state = 'unknown'").await;
    stage.meddle("UPDATE processor_call SET attempt = 1, mode = 'look_up'").await;
    stage.meddle("UPDATE processor_call SET sent_since = now() - interval '47 hours'").await;
    let worker = stage.worker(brisk());
    stage.processor.has_been_looked_at(4).await;
    assert_eq!(stage.reviews().await, Vec::<String>::new(), "such lookups are not counted");
    stage.meddle("UPDATE processor_call SET sent_since = now() - interval '49 hours'").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(
        (stage.state(order).await.as_str(), stage.reviews().await),
        ("unknown", vec!["not_found".to_owned()])
    );
    assert!(stage.processor.posted().is_empty());
}

#[tokio::test]
async fn an_outcome_that_the_processor_called_pending_is_not_reviewed_because_of_an_outage() {
    let stage = Stage::new().await;
    let order = stage.request("pm_card_processing").await;
    let worker = stage.worker(brisk());
    stage.processor.has_been_looked_at(1).await;
    stage.meddle("UPDATE processor_call SET sent_since = now() - interval '9 days'").await;
    let unanswered = 20;
    stage.processor.order((0..unanswered).map(|_| Fate::Refused(503, json!({}))));
    let before = stage.processor.looked_up().len();
    stage.processor.has_been_looked_at(before + unanswered + 2).await;
    worker.stop().await;
    assert_eq!((stage.state(order).await.as_str(), stage.reviews().await), ("unknown", Vec::new()));
    assert_eq!(stage.count("SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL").await, 1);
}
