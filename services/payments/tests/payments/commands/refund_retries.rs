//! A client's refund that fails is the client's to repeat, or an operator's.

use serde_json::json;

use super::{LONG, client, key, visa, whole};
use crate::listing::operate;
use crate::refund_retries::{audited, balance_insufficient};
use crate::stage::{AMOUNT, Stage, brisk};

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_refused_refund_is_not_made_again_by_the_service() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let charged = client.charge(&key(), &visa()).await.json();
    let payment = charged["id"].as_str().unwrap();
    stage.processor.order([balance_insufficient()]);
    client.refund(payment, &key(), &whole()).await.refuses(422, "refund-failed");
    stage.is_at_rest().await;
    let shown = client.get(&format!("/v1/payments/{payment}")).await.json();
    let refunds = shown["refunds"].as_array().unwrap();
    assert_eq!(refunds.len(), 1, "{shown}");
    assert_eq!((&refunds[0]["status"], &refunds[0]["follows"]), (&json!("failed"), &json!(null)));
    assert_eq!(stage.reviews().await, ["refund_failed"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_operators_retry_and_a_clients_refund_at_once_one_gets_the_money() {
    let stage = Stage::new().await;
    let (client, worker) = (client(&stage, LONG).await, stage.worker(brisk()));
    let charged = client.charge(&key(), &visa()).await.json();
    let payment = charged["id"].as_str().unwrap();
    stage.processor.order([balance_insufficient()]);
    client.refund(payment, &key(), &whole()).await.refuses(422, "refund-failed");
    let refund = stage.text("SELECT id::text FROM refund").await;
    let (words, again, body) =
        (["refund", "retry", &refund, "--reason", "the balance is there", "--by", "dana"], key(), whole());
    let (retried, requested) =
        tokio::join!(operate(&stage, &words, &[]), client.refund(payment, &again, &body));
    assert!((retried.0 == 0) != (requested.status == 201), "{} {requested:?}", retried.1);
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.refunds(), [AMOUNT]);
    assert_eq!(stage.count("SELECT refund_reserved AS count FROM payment").await, AMOUNT);
    assert_eq!(audited(&stage).await, [""; 0]);
    if retried.0 == 0 {
        let shown = client.get(&format!("/v1/payments/{payment}")).await.json();
        assert_eq!(shown["refunds"][1]["follows"], json!(refund));
    }
}
