//! Obstacles that only a person or the processor removes. Rows that a fault would leave are planted.

use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Part, Stack};
use testkit::eventually;

use super::{cures, says};

/// Adds a statement's rows as the owner of a database.
async fn plant(stack: &Stack, part: Part, sql: &str) {
    stack.database(part).owner().await.batch_execute(sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_processor_is_away_says_how_often_it_was_asked() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.kill("provider").await;
    let order = customer.places(1).await;
    let line = says(&stack, order, "; the processor has not settled the charge: ").await;
    assert!(line.contains("open: waits for payments, expires at "), "{line}");
    stack.launch_ready("provider", &[]).await;
    customer.sees(order, "confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_review_is_named_with_the_command_that_shows_it() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await;
    stack.at_rest().await;
    let payment = order.payment_id.unwrap();
    let review = format!(
        "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason)
         VALUES (gen_random_uuid(), '{}', 'payment', '{payment}', '{payment}', 'contradicted')",
        customer.tenant()
    );
    plant(&stack, Part::PAYMENTS, &review).await;
    let line = says(&stack, order.id, "a review of the payment is open: contradicted").await;
    assert!(line.contains("confirmed, 4.50 EUR captured, stock shipped; "), "{line}");
    let shown = cures(&stack, order.id, Part::PAYMENTS).await;
    assert!(shown.contains(&payment.to_string()), "{shown}");
}

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
        (says(&stack, order, "").await == "status: confirmed, 4.50 EUR captured, stock shipped").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_a_consumer_has_entered_is_no_obstacle_while_the_cursor_of_the_relay_is_behind_it() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await.id;
    stack.at_rest().await;
    stack.stop_services().await;
    let behind = "UPDATE outbox_cursor SET position = 0, gaps = '{}'";
    plant(&stack, Part::PAYMENTS, behind).await;
    let line = says(&stack, order, "").await;
    assert_eq!(line, "status: confirmed, 4.50 EUR captured, stock shipped");
}
