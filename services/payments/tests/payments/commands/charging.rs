//! Charges that end within the waiting time.

use serde_json::{Value, json};
use testkit::eventually;

use super::{LONG, SHORT, client, client_on, key, visa, with_card};
use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Stage, brisk};

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_made_once_and_answered_with_its_payment() {
    let stage = Stage::new().await;
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let first = client.charge(&key, &visa()).await;
    let payment = first.json();
    let shown = ["status", "order_id", "reference", "amount"].map(|member| payment[member].clone());
    let amount = json!({ "amount": AMOUNT, "currency": "EUR" });
    assert_eq!(shown, [json!("captured"), Value::Null, json!("invoice 1"), amount]);
    let location = format!("/v1/payments/{}", payment["id"].as_str().unwrap());
    assert_eq!((first.status, first.header("location")), (201, Some(location.as_str())));
    assert_eq!(client.get(&location).await.json()["status"], "captured");

    client.charge(&key, &visa()).await.assert_replays(&first);
    let other = client_on(&stage, stage.database.second_instance(), LONG).await;
    other.charge(&key, &visa()).await.assert_replays(&first);
    client.charge(&key, &with_card("pm_card_chargeDeclined")).await.refuses(409, "idempotency-key-reused");
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    assert_eq!(client.state_of(&key).await, "completed");

    // The client has one fact, and the event names no order.
    assert_eq!(stage.facts().await, ["payment.charge"]);
    assert_eq!(stage.text("SELECT actor FROM audit_fact").await, "web-shop");
    let response = stage
        .text("SELECT convert_from(payload, 'UTF8') FROM outbox_event WHERE type LIKE '%Captured%'")
        .await;
    assert_eq!(serde_json::from_str::<Value>(&response).unwrap()["order"], Value::Null);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_is_stored_and_replayed() {
    let stage = Stage::new().await;
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let declined = with_card("pm_card_chargeDeclined");
    let first = client.charge(&key, &declined).await;
    first.refuses(402, "card-declined");
    assert!(first.json()["detail"].as_str().unwrap().contains("generic_decline"));
    client.charge(&key, &declined).await.assert_replays(&first);
    assert_eq!(stage.processor.received().len(), 1);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rejection_of_a_charge_is_stored_and_replayed() {
    let stage = Stage::new().await;
    let error = json!({ "error": { "type": "invalid_request_error", "code": "resource_missing" } });
    stage.processor.order([Fate::Refused(400, error)]);
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let first = client.charge(&key, &visa()).await;
    first.refuses(422, "charge-rejected");
    client.charge(&key, &visa()).await.assert_replays(&first);
    assert_eq!(stage.processor.charges(), Vec::<i64>::new());
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_takes_longer_is_202_and_its_outcome_is_at_the_operation() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    let (client, worker, key) = (client(&stage, SHORT).await, stage.worker(brisk()), key());
    let first = client.charge(&key, &visa()).await;
    let operation = first.operation();
    assert_eq!(client.becomes(&operation, "running").await, Value::Null);
    assert_eq!(client.state_of(&key).await, "unknown");
    client.charge(&key, &visa()).await.assert_replays(&first);

    stage.processor.release();
    let reply = client.becomes(&operation, "succeeded").await;
    assert_eq!((&reply["status"], &reply["body"]["status"]), (&json!(201), &json!("captured")));
    let location = reply["headers"]["location"].as_str().unwrap();
    assert_eq!(client.get(location).await.json(), reply["body"]);
    client.charge(&key, &visa()).await.assert_replays(&first);
    assert_eq!((client.state_of(&key).await, stage.processor.charges()), (json!("completed"), vec![AMOUNT]));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_of_a_charge_in_flight_is_409() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let charge = visa();
    let (first, ()) = tokio::join!(client.charge(&key, &charge), async {
        stage.processor.has_received(1).await;
        client.charge(&key, &visa()).await.refuses(409, "idempotency-key-in-progress");
        client.charge(&key, &with_card("pm_other")).await.refuses(409, "idempotency-key-reused");
        assert_eq!(client.state_of(&key).await, "started");
        stage.processor.release();
    });
    assert_eq!((first.status, stage.processor.charges()), (201, vec![AMOUNT]));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_two_tenants_are_two_charges() {
    let stage = Stage::new().await;
    let (client, worker, key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let mine = client.charge(&key, &visa()).await;
    let body = visa().to_string();
    let more = Some((key.as_str(), body.as_str()));
    let post = reqwest::Method::POST;
    let theirs = client.send(("other", super::SCOPES), post, "/v1/payments", more).await;
    assert_eq!((mine.status, theirs.status), (201, 201));
    assert_ne!(mine.json()["id"], theirs.json()["id"]);
    assert_eq!(stage.processor.charges().len(), 2);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_whose_handler_died_is_answered_at_its_retry() {
    let stage = Stage::new().await;
    let (client, key) = (client(&stage, LONG).await, key());
    let charge = visa();
    let died = tokio::time::timeout(SHORT * 10, client.charge(&key, &charge)).await;
    assert!(died.is_err());
    client.charge(&key, &charge).await.refuses(409, "idempotency-key-in-progress");
    stage.meddle("UPDATE idempotency_operation SET started_at = '2020-01-01'").await;
    let first = client.charge(&key, &charge).await;
    let operation = first.operation();
    let worker = stage.worker(brisk());
    client.becomes(&operation, "succeeded").await;
    client.charge(&key, &charge).await.assert_replays(&first);
    eventually("one charge", async || (stage.processor.charges() == [AMOUNT]).then_some(())).await;
    worker.stop().await;
}
