//! Only the database of payments is restored, to a time before its latest payments. The test follows "A second history" of
//! `docs/repairs.md`.

use e2e::{Customer, Options, Part, Stack};
use serde_json::Value;
use testkit::{eventually, given};

/// The number of orders after the backup.
const AFTER: usize = 4;

const PARKED: &str = "SELECT count(*) FROM inbox_parked";

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_of_payments_alone_an_operator_ends_both_histories_and_nothing_is_charged_twice() {
    let mut stack = Stack::with(Options { lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000).await;
    customer.buys(1).await;
    stack.at_rest().await;
    let backup = stack.dump(Part::PAYMENTS).await;
    for _ in 0..AFTER {
        customer.buys(1).await;
    }
    stack.at_rest().await;
    let charged = stack.captured_and_refunded().await;
    stack.stop("payments").await;

    stack.restore(Part::PAYMENTS, &backup, &given("IDEM_POSTGRES_URL")).await;
    operates(&stack, Part::PAYMENTS, &["adopt"]).await;
    operates(&stack, Part::PAYMENTS, &["inbox", "rewind", "--to-beginning"]).await;
    stack.launch_ready("payments", &[]).await;
    let captured = "SELECT count(*) FROM payment WHERE state = 'captured'";
    stack.counts(Part::PAYMENTS, captured, 1 + i64::try_from(AFTER).unwrap()).await;

    // The captures of the second history have numbers that orders knows from the first one.
    let second = parked(&stack, Part::ORDERS).await;
    for message in &second {
        assert!(message["error"].as_str().unwrap().contains("restored to an earlier time"), "{message}");
        let id = message["message_id"].as_str().unwrap();
        operates(&stack, Part::ORDERS, &["inbox", "discard", id]).await;
    }
    // A confirmation of the first history came before the capture of the second one.
    operates(&stack, Part::PAYMENTS, &["inbox", "redrive", "--all"]).await;
    for service in Part::SERVICES {
        stack.counts(service, PARKED, 0).await;
    }
    let confirmed = "SELECT count(*) FROM payment WHERE confirmed";
    stack.counts(Part::PAYMENTS, confirmed, 1 + i64::try_from(AFTER).unwrap()).await;
    assert_eq!(stack.captured_and_refunded().await, charged, "money moved again");
    let books = stack.books();
    for asked in books.ask_each().await {
        assert_eq!(asked.found().unwrap(), [""; 0], "{asked:?}");
    }
}

/// Waits until a consumer has parked a message of each order after the backup.
async fn parked(stack: &Stack, service: Part) -> Vec<Value> {
    eventually("messages of the second history are parked", async || {
        let output = stack.operate(service, &["inbox", "parked", "--json"]).await;
        let parked: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let messages = parked["messages"].as_array().unwrap().clone();
        (messages.len() == AFTER).then_some(messages)
    })
    .await
}

/// Runs an operator's command that changes something.
async fn operates(stack: &Stack, service: Part, command: &[&str]) {
    let command = [command, &["--by", "dana", "--reason", "restored from a backup"]].concat();
    let output = stack.operate(service, &command).await;
    assert!(output.is_success(), "{command:?}: {output:?}");
}
