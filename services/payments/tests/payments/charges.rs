//! The outcomes of a charge, for each failure of the processor and the network.

use std::time::Duration;

use database::Database;
use payments::Backoff;
use serde_json::json;
use testkit::eventually;
use tokio::net::TcpListener;

use crate::processor::{Fate, SECRET, client_of};
use crate::stage::{AMOUNT, LATER, Order, PAST, Stage, VISA, brisk, requested, worker};

#[tokio::test]
async fn an_order_is_charged_once_and_its_capture_announced() {
    let stage = Stage::new().await;
    let worker = stage.worker(brisk());
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;

    let received = stage.processor.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].path, "/v1/payment_intents");
    assert_eq!(received[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(received[0].parameter("metadata[reference]"), order.payment.to_string());
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    let data = json!({
        "payment": order.payment, "order": order.order, "amount": { "amount": AMOUNT, "currency": "EUR" },
    });
    assert_eq!(stage.announced(order).await, [("payments.PaymentCaptured.v1".to_owned(), data)]);
    assert_eq!(stage.facts().await, ["payment.charge"]);
}

#[tokio::test]
async fn a_lost_response_leads_to_a_retry_with_the_same_key_and_the_same_bytes() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Lost, Fate::Lost]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;

    let received = stage.processor.received();
    assert_eq!(received.len(), 3);
    for again in &received[1..] {
        assert_eq!((again.key(), &again.body), (received[0].key(), &received[0].body));
    }
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
}

#[tokio::test]
async fn a_decline_is_final() {
    let stage = Stage::new().await;
    let order = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "declined").await;
    // A second payment. When it has ended, the worker would have sent everything that was left of the first one.
    let other = stage.request(VISA).await;
    stage.becomes(other, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;

    assert_eq!(stage.processor.received().len(), 2);
    let (kind, data) = stage.announced(order).await.remove(0);
    assert_eq!((kind.as_str(), &data["code"]), ("payments.PaymentDeclined.v1", &json!("generic_decline")));
    assert_eq!(stage.state(order).await, "declined");
}

#[tokio::test]
async fn a_request_that_the_processor_did_not_execute_is_retried() {
    let stage = Stage::new().await;
    let refusals = [429, 401, 403, 409, 503].map(|status| Fate::Refused(status, json!({})));
    stage.processor.order(refusals);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.received().len(), 6);
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn a_request_that_the_processor_rejects_is_a_decline() {
    let stage = Stage::new().await;
    let error = json!({ "error": { "type": "invalid_request_error", "code": "resource_missing" } });
    stage.processor.order([Fate::Refused(400, error)]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "declined").await;
    worker.stop().await;
    assert_eq!(stage.announced(order).await[0].1["code"], "resource_missing");
    assert_eq!(stage.processor.charges(), Vec::<i64>::new());
}

#[tokio::test]
async fn a_charge_that_waits_for_its_customer_is_cancelled_there_and_declined_here() {
    let stage = Stage::new().await;
    // The first cancellation gets no response. Until the PaymentIntent is cancelled, the payment must not be declined.
    stage.processor.order([Fate::Answered, Fate::Lost]);
    let order = stage.request("pm_card_authenticationRequired").await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "declined").await;
    worker.stop().await;
    let received = stage.processor.received();
    let paths: Vec<&str> = received.iter().map(|request| request.path.as_str()).collect();
    let cancel = "/v1/payment_intents/pi_1/cancel";
    assert_eq!(paths, ["/v1/payment_intents", cancel, "/v1/payment_intents", cancel]);
    assert_eq!(received[1].key(), received[3].key());
    assert_eq!(stage.announced(order).await[0].1["code"], "authentication_required");
}

#[tokio::test]
async fn a_failed_connection_leaves_the_attempt_not_sent() {
    let stage = Stage::new().await;
    // A port without a listener.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let order = stage.request(VISA).await;
    let client = client_of(&closed.to_string());
    let worker = worker(Database::clone(&stage.database), client, brisk());
    eventually("two attempts", async || {
        (stage.count("SELECT attempt::bigint AS count FROM processor_call").await >= 2).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(stage.text("SELECT last_outcome FROM processor_call").await, "not sent");
    assert_eq!(stage.state(order).await, "requested");
    // No attempt was made, so the payment can be cancelled without a lookup.
    stage.cancel(order).await;
    assert_eq!(stage.state(order).await, "cancelled");
}

#[tokio::test]
async fn an_expired_payment_is_never_charged() {
    let stage = Stage::new().await;
    let order = Order::new();
    stage.ask(&requested(order, VISA, PAST)).await.unwrap();
    let worker = stage.worker(brisk());
    stage.becomes(order, "cancelled").await;
    worker.stop().await;
    assert_eq!(stage.processor.received(), []);
    assert_eq!(stage.announced_types(order).await, ["PaymentCancelled"]);
}

#[tokio::test]
async fn a_charge_that_may_have_been_made_is_pursued_after_the_order_has_expired() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Lost]);
    let order = Order::new();
    stage.ask(&requested(order, VISA, LATER)).await.unwrap();
    let mut patient = brisk();
    patient.backoff = Backoff { first: Duration::from_mins(10), longest: Duration::from_mins(10) };
    let worker = stage.worker(patient);
    stage.becomes(order, "unknown").await;
    worker.stop().await;
    stage.meddle("UPDATE payment SET expires_at = '2020-01-01'").await;
    stage.meddle("UPDATE processor_call SET due_at = clock_timestamp()").await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn a_response_with_another_amount_opens_a_review() {
    let stage = Stage::new().await;
    let intent = json!({
        "id": "pi_1", "object": "payment_intent", "amount": 1, "amount_received": 1, "currency": "eur",
        "status": "succeeded",
    });
    stage.processor.order([Fate::Misreported(intent)]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "unknown").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.received().len(), 1);
    assert_eq!(stage.announced_types(order).await, Vec::<String>::new());
    assert_eq!(stage.text("SELECT reason FROM review").await, "other_amount");
}

#[tokio::test]
async fn the_processors_key_is_stored_in_its_call_alone() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    for received in stage.processor.received() {
        let key = received.key();
        for (table, found) in [
            ("processor_call", 1),
            ("payment", 0),
            ("refund", 0),
            ("audit_fact", 0),
            ("review", 0),
            ("ledger_transaction", 0),
        ] {
            let sql = format!("SELECT count(*) FROM {table} AS t WHERE t::text LIKE '%{key}%'");
            assert_eq!(stage.count(&sql).await, found, "{table}");
        }
        let announced = stage.announced(order).await;
        assert!(announced.iter().all(|(_, data)| !data.to_string().contains(key)), "{announced:?}");
    }
}
