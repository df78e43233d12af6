//! Obstacles that only a person removes. Rows that a fault would leave are planted.

use contracts::streams;
use e2e::{Customer, Part, Stack};
use testkit::{eventually, remove_records};

use super::{cures, ends, plant, says};

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_event_is_named_with_the_command_that_releases_it() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await.id;
    stack.at_rest().await;
    // A relay reads at its start what is blocked.
    stack.stop("orders").await;
    let blocked = "INSERT INTO outbox_blocked (id, aggregate_id, error)
                   SELECT id, aggregate_id, 'too large' FROM outbox_event ORDER BY id DESC LIMIT 1";
    plant(&stack, Part::ORDERS, blocked).await;
    stack.launch_ready("orders", &[]).await;
    let line = says(&stack, order, "is blocked: too large").await;
    assert!(line.contains("; its OrderConfirmed (outbox id "), "{line}");
    cures(&stack, order, Part::ORDERS).await;
    // The relay publishes the event again, and forgets that it was blocked.
    eventually("no obstacle is left", async || {
        ends(&says(&stack, order, "").await, "confirmed").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_kafka_removed_before_it_was_consumed_is_named_with_the_command_that_publishes_it_again()
 {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    let reader = Part::SERVICES.into_iter().find(|service| *service != Part::ORDERS).unwrap().name();
    stack.stop(reader).await;
    let order = customer.places(1).await;
    says(&stack, order, &format!("{reader} has not consumed OrderPlaced")).await;
    let kafka = stack.kafka();
    remove_records(&kafka.topics.events(streams::ORDERS)).await;
    says(&stack, order, &format!("Kafka removed OrderPlaced before {reader} consumed it")).await;
    stack.launch_ready(reader, &[]).await;
    cures(&stack, order, Part::ORDERS).await;
    customer.sees(order, "confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waits_for_an_earlier_one_is_named_with_the_command_that_publishes_it_again() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await.id;
    stack.at_rest().await;
    let reader = Part::SERVICES.into_iter().find(|service| *service != Part::ORDERS).unwrap();
    let waits = |sequence: u8, state: &str| {
        format!(
            "INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, partition, \
                                       record_offset, headers, payload, parked_at) \
             VALUES ('{}', gen_random_uuid(), 'orders', '{order}', {sequence}, '{state}', 't', 0, 0, '[]', '', \
                     clock_timestamp() - interval '{sequence} minutes')",
            reader.name()
        )
    };
    plant(&stack, reader, &waits(99, "held")).await;
    says(&stack, order, "until an earlier message of orders arrives").await;
    cures(&stack, order, Part::ORDERS).await;
    // The message that is parked is the one that the other waits for.
    plant(&stack, reader, &waits(98, "parked")).await;
    says(&stack, order, "; parked: ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_a_consumer_has_entered_is_no_obstacle_while_the_cursor_of_the_relay_is_behind_it() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await.id;
    stack.at_rest().await;
    stack.stop_services().await;
    let behind = "UPDATE outbox_cursor SET position = 0, gaps = '{}'";
    for service in Part::SERVICES {
        plant(&stack, service, behind).await;
    }
    let line = says(&stack, order, "").await;
    assert!(ends(&line, "confirmed"), "{line}");
}
