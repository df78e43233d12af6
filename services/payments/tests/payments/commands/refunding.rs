//! Refunds in full and in parts, up to the captured amount.

use std::collections::HashSet;

use futures_util::future::join_all;
use serde_json::json;
use testkit::eventually;

use super::{ApiResponse, LONG, SHORT, client, key, part, visa, whole};
use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Stage, VISA, brisk};

fn id(created: &ApiResponse) -> String {
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_refunds_are_accepted_up_to_the_captured_amount() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let payment = id(&client.charge(&key(), &visa()).await);
    let first = client.refund(&payment, &refund_key, &part(500)).await;
    let shown = first.json();
    let members = ["payment_id", "amount", "status", "cause", "reason"].map(|member| shown[member].clone());
    let amount = json!({ "amount": 500, "currency": "EUR" });
    assert_eq!(members, [json!(payment), amount, json!("succeeded"), json!("requested"), json!("broken")]);
    let location = format!("/v1/refunds/{}", id(&first));
    assert_eq!(first.header("location"), Some(location.as_str()));
    assert_eq!(client.get(&location).await.json(), shown);
    client.refund(&payment, &refund_key, &part(500)).await.assert_replays(&first);

    client.refund(&payment, &key(), &part(1500)).await.refuses(422, "refund-exceeds-capture");
    id(&client.refund(&payment, &key(), &part(500)).await);
    // Without an amount, the refund is the rest of the payment.
    let rest = client.refund(&payment, &key(), &whole()).await;
    assert_eq!(rest.json()["amount"]["amount"], AMOUNT - 1000);
    client.refund(&payment, &key(), &whole()).await.refuses(422, "refund-exceeds-capture");
    client.refund(&payment, &key(), &part(1)).await.refuses(422, "refund-exceeds-capture");

    assert_eq!(stage.processor.refunds(), [500, 500, AMOUNT - 1000]);
    let received = stage.processor.received();
    let refunds = received.iter().filter(|request| request.path == "/v1/refunds");
    let keys: HashSet<&str> = refunds.map(crate::http::Received::key).collect();
    assert_eq!(keys.len(), 3);
    assert_eq!(stage.facts().await.iter().filter(|fact| *fact == "payment.refund").count(), 3);
    let response = "SELECT count(*) FROM outbox_event WHERE type LIKE '%PaymentRefunded%' \
                AND (convert_from(payload, 'UTF8')::json ->> 'order') IS NULL";
    assert_eq!(stage.count(response).await, 3);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_stored_under_the_route_of_its_command() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let payment = id(&client.charge(&key(), &visa()).await);
    id(&client.refund(&payment, &key(), &part(500)).await);
    worker.stop().await;
    let commands = ["POST /v1/payments", "POST /v1/payments/{id}/refunds"];
    testkit::assert_keyed_commands(&stage.database, "payments", &commands).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_refunds_never_exceed_the_capture() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let payment = id(&client.charge(&key(), &visa()).await);
    let (part, keys) = (part(100), (0..50).map(|_| key()).collect::<Vec<_>>());
    // Fifty commands wait for one row, so the last ones may be told to come again.
    let send = async |key: &String| loop {
        let response = client.refund(&payment, key, &part).await;
        if response.status != 503 {
            return response;
        }
    };
    let responses = join_all(keys.iter().map(send)).await;
    let given = responses.iter().filter(|response| response.status == 201).count();
    assert_eq!(given, 19);
    for response in responses.iter().filter(|response| response.status != 201) {
        response.refuses(422, "refund-exceeds-capture");
    }
    assert_eq!(stage.processor.refunds(), [100; 19]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, 1900);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_with_a_hundred_refunds_takes_no_more_of_clients_and_an_automatic_one() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let payment = id(&client.charge(&key(), &visa()).await);
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    let failed = "INSERT INTO refund (id, tenant_id, payment_id, cause, operation_id, amount, state, failure_code)
                  SELECT gen_random_uuid(), tenant_id, id, 'requested', gen_random_uuid(), 1, 'failed', 'disputed'
                  FROM payment, generate_series(1, CASE WHEN order_id IS NULL THEN 99 ELSE 100 END)";
    stage.meddle(failed).await;

    id(&client.refund(&payment, &key(), &part(1)).await);
    let rejected = client.refund(&payment, &refund_key, &part(1)).await;
    rejected.refuses(422, "refund-exceeds-capture");
    assert!(rejected.json()["detail"].as_str().unwrap().contains("has 100 refunds"), "{rejected:?}");
    client.refund(&payment, &refund_key, &part(1)).await.assert_replays(&rejected);
    let shown = client.get(&format!("/v1/payments/{payment}")).await.json();
    assert_eq!(shown["refunds"].as_array().unwrap().len(), 100);

    stage.cancel(order).await;
    eventually("the automatic refund", async || {
        stage.refunds(order).await.contains(&"succeeded".to_owned()).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(stage.processor.refunds(), [1, AMOUNT]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_record_is_deleted_makes_no_second_refund_of_its_payment() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let payment = id(&client.charge(&key(), &visa()).await);
    let first = id(&client.refund(&payment, &refund_key, &part(500)).await);
    // As the job does when the key has been remembered for 30 days.
    for table in ["idempotency_snapshot", "idempotency_operation", "idempotency_record"] {
        stage.meddle(&format!("DELETE FROM {table}")).await;
    }
    for _ in 0..2 {
        let refused = client.refund(&payment, &refund_key, &part(500)).await;
        refused.refuses(409, "idempotency-key-expired");
        assert!(refused.json()["detail"].as_str().unwrap().contains(&first), "{refused:?}");
    }
    let other = id(&client.charge(&key(), &visa()).await);
    id(&client.refund(&other, &refund_key, &part(500)).await);
    assert_eq!(stage.processor.refunds(), [500, 500]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_amount_of_a_rejected_refund_is_available_again() {
    let stage = Stage::new().await;
    let (client, worker, refund_key) = (client(&stage, LONG).await, stage.worker(brisk()), key());
    let payment = id(&client.charge(&key(), &visa()).await);
    let error = json!({ "error": { "type": "invalid_request_error", "code": "charge_disputed" } });
    stage.processor.order([Fate::Refused(400, error)]);
    let response = client.refund(&payment, &refund_key, &whole()).await;
    response.refuses(422, "refund-failed");
    assert!(response.json()["detail"].as_str().unwrap().contains("charge_disputed"));
    client.refund(&payment, &refund_key, &whole()).await.assert_replays(&response);
    id(&client.refund(&payment, &key(), &whole()).await);
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_takes_longer_is_accepted_and_its_amount_stays_claimed() {
    let stage = Stage::new().await;
    let (slow, worker, refund_key) = (client(&stage, SHORT).await, stage.worker(brisk()), key());
    let quick = client(&stage, LONG).await;
    let payment = id(&quick.charge(&key(), &visa()).await);
    stage.processor.order([held()]);
    let first = slow.refund(&payment, &refund_key, &part(1500)).await;
    let operation = first.operation();
    slow.refund(&payment, &key(), &part(500)).await.refuses(422, "refund-exceeds-capture");
    stage.processor.release();
    let reply = slow.becomes(&operation, "succeeded").await;
    assert_eq!((&reply["status"], &reply["body"]["status"]), (&json!(201), &json!("succeeded")));
    slow.refund(&payment, &refund_key, &part(1500)).await.assert_replays(&first);
    assert_eq!(stage.processor.refunds(), [1500]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_retries_a_refund_that_was_not_executed() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let payment = id(&client.charge(&key(), &visa()).await);
    let limited = Fate::Refused(429, json!({ "error": { "type": "invalid_request_error" } }));
    stage.processor.order([limited.clone(), limited]);
    id(&client.refund(&payment, &key(), &whole()).await);
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_are_listed_newest_first_in_pages() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let payment = id(&client.charge(&key(), &visa()).await);
        for _ in 0..3 {
            ids.insert(0, json!(id(&client.refund(&payment, &key(), &part(10)).await)));
        }
    }
    let (mut seen, mut path) = (Vec::new(), "/v1/refunds?limit=4".to_owned());
    loop {
        let page = client.get(&path).await.json();
        seen.extend(page["data"].as_array().unwrap().iter().map(|refund| refund["id"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/refunds?limit=4&cursor={cursor}");
    }
    assert_eq!(seen, ids);
    let (get, post) = (reqwest::Method::GET, reqwest::Method::POST);
    let other = ("other", super::SCOPES);
    let theirs = client.send(other, get.clone(), "/v1/refunds", None).await;
    assert_eq!(theirs.json(), json!({ "data": [], "next_cursor": null }));
    // With this cursor, a list begins behind refunds that are older than theirs. It must not show that to them.
    let body = visa().to_string();
    let payment = id(&client.send(other, post.clone(), "/v1/payments", Some((&key(), &body))).await);
    let refunds = format!("/v1/payments/{payment}/refunds");
    let newest = id(&client.send(other, post, &refunds, Some((&key(), &part(10).to_string()))).await);
    let theirs = client.send(other, get, &path, None).await;
    assert_eq!(theirs.json()["data"][0]["id"], newest);
    worker.stop().await;
}
