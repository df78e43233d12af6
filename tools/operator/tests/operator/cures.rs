//! An order that does not move: the page says why, and its command helps.

use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Options, Part, Stack};

use super::{cures, ends, explain, says};

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
    let line = says(&stack, order, "status: confirmed").await;
    assert!(ends(&line, "confirmed", "stock shipped"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_event_is_not_published_says_so_and_that_no_relay_runs() {
    let mut stack = Stack::with(Options { separate_relays: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.stop("orders-relay").await;
    let order = customer.places(1).await;
    let id = stack.count(Part::ORDERS, "SELECT max(id) AS count FROM outbox_event").await;
    let line = says(&stack, order, "relay none").await;
    let expected = format!("; its OrderPlaced (outbox id {id}) is not published, relay none; cure: ./dev up");
    assert!(line.contains("open: waits for inventory, ") && line.ends_with(&expected), "{line}");
    stack.launch_ready("orders-relay", &[]).await;
    customer.sees(order, "confirmed").await;
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
