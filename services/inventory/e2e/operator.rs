//! inventory in the pages of `explain` and in the audit of the whole installation.

use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Part, Stack};
use testkit::eventually;

use crate::{cures, ends, explain, in_order, last_line, plant, says, violations};

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_order_shows_its_reservation_and_its_shipment() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await.id;
    stack.at_rest().await;
    let output = explain(&stack, order).await;
    in_order(
        &output,
        &[
            "OrderPlaced of orders entered, sequence 1",
            "reservation: 2 × TEA held",
            "inventory.StockReserved.v1, sequence 1",
            "StockReserved of inventory entered",
            "OrderConfirmed: the order is confirmed",
        ],
    );
    in_order(
        &output,
        &["OrderConfirmed of orders entered", "stock movement: -2 × TEA", "inventory.StockShipped.v1"],
    );
    let line = last_line(&output);
    assert!(ends(line, "confirmed") && line.ends_with("stock shipped"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_is_named_with_the_command_that_cures_it() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.stop("inventory").await;
    stack.launch_ready("inventory", &[("IDEM_INBOX__ATTEMPTS", "1")]).await;
    let mut owner = stack.database(Part::INVENTORY).owner().await;
    owner
        .batch_execute("ALTER TABLE reservation ADD CONSTRAINT planted CHECK (false) NOT VALID")
        .await
        .unwrap();
    let order = customer.places(1).await;

    let line = says(&stack, order, "parked: inventory could not apply OrderPlaced (message ").await;
    assert!(line.contains("open: waits for inventory, expires at "), "{line}");
    assert!(line.contains("\"planted\""), "the error names the constraint: {line}");
    let page = explain(&stack, order).await.stdout;
    assert!(
        page.lines().any(|line| line.contains("waiting") && line.contains("parked, sequence 1, ")),
        "{page}"
    );

    owner.batch_execute("ALTER TABLE reservation DROP CONSTRAINT planted").await.unwrap();
    let output = cures(&stack, order, Part::INVENTORY).await;
    assert!(output.contains("  applied\n"), "{output}");
    customer.sees(order, "confirmed").await;
    eventually("the order is shipped, and no obstacle is left", async || {
        let line = says(&stack, order, "status: confirmed").await;
        (ends(&line, "confirmed") && line.ends_with("stock shipped")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_event_is_not_consumed_names_the_consumer() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.stop("inventory").await;
    let order = customer.places(1).await;
    says(&stack, order, "; inventory has not consumed OrderPlaced; cure: ./dev topics, ./dev logs inventory")
        .await;
    stack.launch_ready("inventory", &[]).await;
    customer.sees(order, "confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_violation_that_only_several_databases_together_show_is_named() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await.id;
    stack.at_rest().await;
    plant(&stack, Part::INVENTORY, "UPDATE reservation SET state = 'released'").await;
    let violations = violations(&stack, "orders and stock agree").await;
    assert!(violations.len() == 1 && violations[0].contains(&order.to_string()), "{violations:?}");
}
