//! SIGTERM under load, many times: begun requests are finished, and later ones are refused as retryable.

use e2e::{Customer, Load, Options, Stack};

use crate::turn;

/// How many programs get a SIGTERM.
const TIMES: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn instances_stopped_twenty_times_under_load_give_no_wrong_response_and_lose_nothing() {
    let _turn = turn().await;
    let options = Options { two_of_each: true, ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders", "orders-2"]), 3);
    let instances =
        ["orders", "payments", "orders-2", "inventory", "orders", "payments-2", "orders-2", "inventory-2"];
    for name in instances.into_iter().cycle().take(TIMES) {
        stack.stop(name).await;
        stack.launch_ready(name, &[]).await;
    }
    let responses = load.stop().await;
    assert_eq!(responses.unanswered(), 0, "{:?}", responses.refusals());
    stack.audited(&responses).await;
}
