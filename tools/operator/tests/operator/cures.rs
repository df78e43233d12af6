//! An order that does not move: the page says why.

use e2e::{Customer, Options, Part, Stack};

use super::says;

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_event_is_not_published_says_so_and_that_no_relay_runs() {
    let mut stack = Stack::with(Options { separate_relays: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.stop("orders-relay").await;
    let order = customer.places(1).await;
    let first = "SELECT min(id) AS count FROM outbox_event WHERE aggregate_id::text = $1";
    let id = stack.books().count_of(Part::ORDERS, first, order).await.unwrap();
    let line = says(&stack, order, "relay none").await;
    let expected = format!("; its OrderPlaced (outbox id {id}) is not published, relay none; cure: ./dev up");
    assert!(line.contains("open: waits for ") && line.ends_with(&expected), "{line}");
    stack.launch_ready("orders-relay", &[]).await;
    customer.sees(order, "confirmed").await;
}
