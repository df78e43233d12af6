//! `kill -9` around the commit of a command, and the response to the retry. The other crash points are tested under load,
//! in `storms`.

use e2e::{Customer, Options, Order, Part, Stack};

const ORDERS: &str = "SELECT count(*) FROM orders";

#[tokio::test(flavor = "multi_thread")]
async fn orders_killed_around_its_commit_replays_exactly_what_was_committed() {
    let mut stack = Stack::with(Options { lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(1).await;
    stack.settled().await;
    let mut orders = 1;
    for (point, committed) in [
        ("execute.key_claimed", false),
        ("execute.command_done", false),
        ("execute.before_commit", false),
        ("execute.after_commit", true),
    ] {
        stack.kill("orders").await;
        stack.launch_ready("orders", &[("IDEM_CRASH", point)]).await;
        let request = customer.tea(2);
        let broken = customer.api.send(&request).await;
        assert!(broken.is_err(), "{point}: the connection breaks without a response");
        let kept = stack.count(Part::ORDERS, ORDERS).await;
        assert_eq!(kept, orders + i64::from(committed), "{point}");

        stack.killed_itself("orders", point).await;
        stack.launch_ready("orders", &[]).await;
        let response = customer.send(&request).await;
        assert_eq!(response.is_replay(), committed, "{point}");
        let order: Order = response.read(201).unwrap();
        customer.sees(order.id, "confirmed").await;
        orders += 1;
        assert_eq!(stack.count(Part::ORDERS, ORDERS).await, orders, "{point}");
    }
}
