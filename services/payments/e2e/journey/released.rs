//! A key that an operator releases: the command without an effect stays without one, and the next one takes effect once.

use contracts::{Currency, Money};
use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Part, Stack};
use harness::payments::charge;
use serde_json::{Value, json};

const CARD: &str = "pm_card_visa";

/// A command of payments, and whether it is done.
async fn operate(stack: &Stack, words: &[&str]) -> (bool, Value) {
    let output = stack.operate(Part::PAYMENTS, &[words, &["--json"]].concat()).await;
    let report = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.is_success(), report)
}

/// `keys release` of an operation.
async fn release(stack: &Stack, operation: &str, more: &[&str]) -> (bool, Value) {
    let words = ["keys", "release", operation, "--by", "kim", "--reason", "the processor is back"];
    operate(stack, &[&words, more].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_key_is_free_for_a_new_command_and_a_key_with_an_effect_stays() {
    let stack = Stack::start().await;
    let customer = Customer::of(&stack);
    stack.faults(json!([{ "kinds": ["rate_limit"], "route": "POST /v1/payment_intents" }])).await;
    let refused = charge(Money::new(900, Currency::Eur), CARD);
    let response = customer.send(&refused).await;
    assert_eq!((response.status, &response.json()["code"]), (503, &json!("payment-not-executed")));
    stack.no_faults().await;

    // The client wants another amount under its key.
    let key = refused.key.clone().unwrap();
    let other = charge(Money::new(700, Currency::Eur), CARD).with_key(&key);
    assert_eq!(customer.send(&other).await.json()["code"], "idempotency-key-reused");
    let show = ["keys", "show", &key, "--tenant", customer.tenant(), "--client", "e2e"];
    let (_, shown) = operate(&stack, &show).await;
    assert_eq!(shown["operations"][0]["state"], "failed_retryable", "{shown}");
    let operation = shown["operations"][0]["operation_id"].as_str().unwrap().to_owned();

    let (planned, _) = release(&stack, &operation, &["--dry-run"]).await;
    assert!(planned);
    assert_eq!(operate(&stack, &show).await.1, shown, "a dry run changes nothing");
    assert!(release(&stack, &operation, &[]).await.0);
    let (again, report) = release(&stack, &operation, &[]).await;
    assert!(!again, "{report}");

    assert_eq!(customer.send(&other).await.status, 201);
    let (_, shown) = operate(&stack, &show).await;
    assert_eq!(shown["operations"].as_array().unwrap().len(), 1, "{shown}");
    let new = shown["operations"][0]["operation_id"].as_str().unwrap().to_owned();
    assert_ne!(new, operation);
    let (freed, report) = release(&stack, &new, &[]).await;
    assert!(!freed && report["state"] == "completed", "{report}");
    assert!(customer.send(&other).await.is_replay(), "the key of an effect stays");

    // The time of the first charge ends. It is not made.
    let now = "UPDATE payment SET expires_at = '2020-01-01' WHERE state = 'requested';
               UPDATE processor_call SET due_at = '2020-01-01' WHERE due_at IS NOT NULL;";
    stack.database(Part::PAYMENTS).owner().await.batch_execute(now).await.unwrap();
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'cancelled'", 1).await;
    assert_eq!(stack.captured_and_refunded().await, (700, 0));
    let facts = "SELECT count(*) FROM audit_fact WHERE action = 'key.release' AND actor = '@operator:kim'";
    assert_eq!(stack.count(Part::PAYMENTS, facts).await, 1);
    let audited = stack.operate(Part::PAYMENTS, &["audit"]).await;
    assert!(audited.is_success(), "{audited:?}");
}
