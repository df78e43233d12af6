//! The processor's fee: recorded with the capture, or looked up until it is known.

use serde_json::json;

use crate::stage::{Stage, VISA, brisk};

#[tokio::test]
async fn a_fee_that_is_not_known_at_once_is_looked_up_until_it_is() {
    let stage = Stage::new().await;
    stage.processor.behaves("succeeded", false);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.processor.has_been_looked_at(3).await;
    assert_eq!(stage.count("SELECT count(*) FROM payment WHERE fee IS NOT NULL").await, 0);
    let charge =
        json!({ "id": "ch_1", "balance_transaction": { "id": "txn_9", "fee": 59, "currency": "usd" } });
    stage.processor.amend("payment_intent", "latest_charge", &charge);
    stage.is_at_rest().await;
    worker.stop().await;
    let fee = stage.text("SELECT concat_ws(' ', fee, fee_currency, fee_transaction) FROM payment").await;
    assert_eq!(fee, "59 USD txn_9");
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    let expanded = stage.processor.looked_up()[0].asked("expand[]").map(str::to_owned);
    assert_eq!(expanded.as_deref(), Some("latest_charge.balance_transaction"));
}

#[tokio::test]
async fn a_fee_in_an_unknown_currency_is_stored_and_ends_the_lookups() {
    let stage = Stage::new().await;
    stage.processor.behaves("succeeded", false);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    let charge =
        json!({ "id": "ch_1", "balance_transaction": { "id": "txn_9", "fee": 59, "currency": "usdc" } });
    stage.processor.amend("payment_intent", "latest_charge", &charge);
    stage.is_at_rest().await;
    worker.stop().await;
    let fee = stage.text("SELECT concat_ws(' ', fee, fee_currency, fee_transaction) FROM payment").await;
    assert_eq!(fee, "59 USDC txn_9");
    // The ledger holds known currencies only.
    assert_eq!(stage.count("SELECT count(*) FROM ledger_transaction WHERE kind = 'fee'").await, 0);
}
