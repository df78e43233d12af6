//! The page of an order that has ended, and of one that cannot be found.

use e2e::{Customer, Part, Stack};
use harness::CommandOutput;
use uuid::Uuid;

use super::{ends, explain, in_order, last_line, run, sources};

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_order_is_explained_step_by_step_from_its_request_to_its_confirmation() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await;
    stack.at_rest().await;
    let output = run(&sources(&stack), &["explain", &order.id.to_string(), "--offsets"]).await;
    assert!(output.is_success(), "{output:?}");
    let tenant = customer.tenant();
    in_order(
        &output,
        &[
            &format!("order {} of tenant {tenant}: 2 × TEA for 9.00 EUR", order.id),
            &format!("order.place by e2e of tenant {tenant}"),
            "OrderPlaced: the order is pending; by a request of e2e",
            "orders.OrderPlaced.v1, sequence 1",
            "OrderPlaced of orders entered, sequence 1",
            "OrderConfirmed: the order is confirmed; by a message of ",
            "orders.OrderConfirmed.v1, sequence ",
            "OrderConfirmed of orders entered, sequence ",
            "status: confirmed",
        ],
    );
    assert!(ends(last_line(&output), "confirmed"), "{output:?}");
    every_event_is_at_its_offset(&stack, customer.tenant(), order.id, &output).await;
    no_key_is_printed(&stack, &output).await;
}

/// Compares the offsets of the page with the topics, read from end to end.
async fn every_event_is_at_its_offset(stack: &Stack, tenant: &str, order: Uuid, output: &CommandOutput) {
    let kafka = stack.kafka();
    let messages = kafka.messages(tenant).await.unwrap();
    let own: Vec<_> = messages.iter().filter(|message| message.key == Some(order)).collect();
    let places = output.stdout.lines().filter(|line| line.contains(" at offset ")).count();
    assert!(
        own.len() == places && places >= 4,
        "two events of orders and two of others at least: {output:?}"
    );
    for message in own {
        let topic = kafka.topics.events(message.stream);
        let place = format!("→ {topic}/{} at offset {}, published", message.partition, message.offset);
        let is_there = |line: &str| line.contains(&message.envelope.kind) && line.ends_with(&place);
        assert!(
            output.stdout.lines().any(is_there),
            "{} {place} is not in\n{}",
            message.envelope.kind,
            output.stdout
        );
    }
}

async fn no_key_is_printed(stack: &Stack, output: &CommandOutput) {
    let sql = "SELECT count(*) FROM idempotency_record WHERE position(key IN $1) > 0";
    assert_eq!(
        stack.books().count_of(Part::ORDERS, sql, &output.stdout).await.unwrap(),
        0,
        "{}",
        output.stdout
    );
    let sql = "SELECT count(*) FROM idempotency_record \
                WHERE position('key ' || left(encode(sha256(key::bytea), 'hex'), 8) || ' is completed with 201' IN $1) > 0";
    assert_eq!(
        stack.books().count_of(Part::ORDERS, sql, &output.stdout).await.unwrap(),
        1,
        "{}",
        output.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_order_is_a_sentence_and_a_wrong_id_is_a_wrong_command_line() {
    let stack = Stack::start().await;
    let unknown = Uuid::now_v7();
    let output = explain(&stack, unknown).await;
    assert_eq!((output.code, output.stdout), (Some(1), format!("there is no order {unknown}\n")));
    let output = run(&sources(&stack), &["explain", "4711"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{}", output.stderr);
}
