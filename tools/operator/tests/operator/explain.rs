//! The page of an order that has ended, and of one that cannot be found.

use e2e::{Customer, Part, Stack};
use harness::CommandOutput;
use serde_json::Value;
use uuid::Uuid;

use super::{explain, last_line, run, sources};

/// Panics unless the page has these texts, each in a later line than the one before.
fn in_order(output: &CommandOutput, steps: &[&str]) {
    let mut lines = output.stdout.lines();
    for step in steps {
        assert!(lines.any(|line| line.contains(step)), "{step} is not at its place in\n{}", output.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_order_is_explained_step_by_step_from_its_request_to_its_shipment() {
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
            "reservation: 2 × TEA held",
            "inventory.StockReserved.v1, sequence 1",
            "StockReserved of inventory entered",
            "PaymentRequested: the order is awaiting_payment",
            "orders.PaymentRequested.v1, sequence 2",
            "PaymentRequested of orders entered, sequence 2",
            ": 9.00 EUR requested",
            "charge: ",
            "capture: receivable 9.00 EUR, clearing -9.00 EUR",
            "payments.PaymentCaptured.v1, sequence 1",
            "OrderConfirmed: the order is confirmed; by a message of payments",
            "orders.OrderConfirmed.v1, sequence 3",
            "OrderConfirmed of orders entered, sequence 3",
            "status: confirmed, 9.00 EUR captured, stock shipped",
        ],
    );
    in_order(
        &output,
        &["OrderConfirmed of orders entered", "stock movement: -2 × TEA", "inventory.StockShipped.v1"],
    );
    in_order(&output, &["charge: ", "9.00 EUR captured, 0.00 EUR refunded", "capture: receivable"]);
    assert_eq!(last_line(&output), "status: confirmed, 9.00 EUR captured, stock shipped");
    every_event_is_at_its_offset(&stack, customer.tenant(), order.id, &output).await;
    no_key_is_printed(&stack, &output).await;
}

/// Compares the offsets of the page with the topics, read from end to end.
async fn every_event_is_at_its_offset(stack: &Stack, tenant: &str, order: Uuid, output: &CommandOutput) {
    let kafka = stack.kafka();
    let messages = kafka.messages(tenant).await.unwrap();
    let own: Vec<_> = messages.iter().filter(|message| message.key == Some(order)).collect();
    assert_eq!(own.len(), 6, "three events of orders, two of inventory, one of payments");
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
async fn cancelled_orders_say_why_and_what_became_of_stock_and_money() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let declined = customer.places_with(1, "pm_card_visa_chargeDeclined").await;
    let too_many = customer.places(100).await;
    let late = customer.places_with(2, "pm_card_idem_slow").await;
    customer.sees(late, "awaiting_payment").await;
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
    assert_eq!(customer.api.cancel(late).await.unwrap().status, 200);
    stack.captures_and_refunds(900, 900).await;
    customer.sees(declined, "cancelled/declined").await;
    customer.sees(too_many, "cancelled/rejected").await;
    stack.at_rest().await;
    for (order, expected) in [
        (declined, "cancelled (declined), card declined, nothing charged, stock released"),
        (too_many, "cancelled (rejected), nothing charged, no stock reserved"),
        (late, "cancelled (customer), 9.00 EUR captured, 9.00 EUR refunded, stock released"),
    ] {
        let output = explain(&stack, order).await;
        assert_eq!(last_line(&output), format!("status: {expected}"), "{}", output.stdout);
        assert!(output.is_success());
    }
    let output = run(&sources(&stack), &["explain", &late.to_string(), "--json"]).await;
    let page: Value = serde_json::from_str(&output.stdout).unwrap();
    let texts: Vec<&str> =
        page["lines"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    for (start, end) in [
        ("refund ", "9.00 EUR pending, cause order_cancelled"),
        ("refund re_", "of 9.00 EUR is succeeded"),
        ("transaction ", "refund: clearing 9.00 EUR, receivable -9.00 EUR"),
    ] {
        let is_there = texts.iter().any(|text| text.starts_with(start) && text.ends_with(end));
        assert!(is_there, "{start}… {end} is not in\n{texts:#?}");
    }
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
