//! Charges whose first attempts fail or have an unknown outcome.

use std::time::Duration;

use payments::{Backoff, WorkerSettings};
use serde_json::{Value, json};

use super::{LONG, SHORT, client, key, visa};
use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, LATER, Order, Stage, VISA, brisk, requested};

fn limited() -> Fate {
    Fate::Refused(429, json!({ "error": { "type": "invalid_request_error" } }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_was_not_executed_is_503_and_the_next_retry_makes_it() {
    let stage = Stage::new().await;
    stage.processor.order([limited()]);
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let response = client.charge(&key, &visa()).await;
    response.refuses(503, "payment-not-executed");
    assert_eq!(
        (client.state_of(&key).await, response.header("idempotency-status")),
        (json!("failed_retryable"), None)
    );
    // No call is due, so the worker would have sent everything by now.
    let other = stage.request(VISA).await;
    stage.becomes(other, "captured").await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    assert_eq!(stage.count("SELECT count(*) FROM payment WHERE state = 'requested'").await, 1);

    let first = client.charge(&key, &visa()).await;
    assert_eq!((first.status, first.json()["status"].as_str()), (201, Some("captured")));
    client.charge(&key, &visa()).await.assert_replays(&first);
    let received = stage.processor.received();
    let posted: Vec<_> = received.iter().filter(|request| request.path == "/v1/payment_intents").collect();
    // All attempts have the same key and the same bytes.
    assert_eq!((posted[0].key(), &posted[0].body), (posted[2].key(), &posted[2].body));
    assert_eq!((posted.len(), stage.processor.charges()), (3, vec![AMOUNT, AMOUNT]));
    assert_eq!(stage.facts().await, ["payment.charge", "payment.charge"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_202_the_worker_retries_a_charge_that_was_not_executed() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Held(Box::new(limited())), limited(), limited()]);
    let (client, worker, key) = (client(&stage, SHORT).await, stage.worker(brisk()), key());
    let operation = client.charge(&key, &visa()).await.operation();
    stage.processor.release();
    client.becomes(&operation, "succeeded").await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_without_a_retry_in_time_has_expired() {
    let stage = Stage::new().await;
    stage.processor.order([limited()]);
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    client.charge(&key, &visa()).await.refuses(503, "payment-not-executed");
    stage.meddle("UPDATE payment SET expires_at = '2020-01-01'").await;
    stage.meddle("UPDATE processor_call SET due_at = '2020-01-01'").await;
    testkit::eventually("a cancelled payment", async || {
        (stage.text("SELECT state FROM payment").await == "cancelled").then_some(())
    })
    .await;
    let response = client.charge(&key, &visa()).await;
    response.refuses(409, "payment-expired");
    assert_eq!(response.header("idempotency-status"), Some("replayed"));
    assert_eq!((client.state_of(&key).await, stage.processor.charges()), (json!("completed"), vec![]));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_due_again_when_it_expires() {
    let stage = Stage::new().await;
    stage.processor.order([limited()]);
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    client.charge(&key, &visa()).await.refuses(503, "payment-not-executed");
    worker.stop().await;
    let rests = "SELECT count(*) FROM processor_call JOIN payment USING (id) WHERE due_at = expires_at \
                 AND expires_at - payment.created_at BETWEEN interval '899 s' AND interval '901 s'";
    assert_eq!(stage.count(rests).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_is_never_shown_as_a_refusal() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Lost, held()]);
    let backoff = Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(1) };
    let worker = stage.worker(WorkerSettings { backoff, ..brisk() });
    let (client, key) = (client(&stage, SHORT).await, key());
    let first = client.charge(&key, &visa()).await;
    let operation = first.operation();
    assert_eq!(client.becomes(&operation, "unknown").await, Value::Null);
    client.charge(&key, &visa()).await.assert_replays(&first);
    stage.processor.release();
    assert_eq!(client.becomes(&operation, "succeeded").await["status"], 201);
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_charge_is_refused_before_a_request_is_sent() {
    let stage = Stage::new().await;
    let (client, key) = (client(&stage, LONG).await, key());
    let charge = visa();
    let (response, worker) = tokio::join!(client.charge(&key, &charge), async {
        testkit::eventually("a payment", async || {
            (stage.count("SELECT count(*) FROM payment").await == 1).then_some(())
        })
        .await;
        // A row that no release can read.
        stage.meddle("UPDATE payment SET currency = 'XXX'").await;
        stage.worker(brisk())
    });
    response.refuses(500, "operation-failed");
    client.charge(&key, &charge).await.assert_replays(&response);
    assert_eq!(client.state_of(&key).await, "failed_terminal");
    assert_eq!(stage.text("SELECT state FROM payment").await, "cancelled");
    assert_eq!(stage.text("SELECT reason FROM review").await, "cannot_be_taken");
    assert_eq!(
        stage.count("SELECT count(*) FROM processor_call WHERE due_at IS NULL AND faults = 8").await,
        1
    );
    // Other calls were not delayed.
    let order = Order::new();
    stage.ask(&requested(order, VISA, LATER)).await.unwrap();
    stage.becomes(order, "captured").await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    worker.stop().await;
}
