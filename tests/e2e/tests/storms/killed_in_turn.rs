//! Both instances of a service, killed in turn, again and again.

use std::time::Duration;

use e2e::{Customer, Load, Options, Part, Stack};
use tokio::time::interval;

use crate::turn;

/// The pause between two kills. No instance lives for longer than twice of it.
const PERIOD: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn with_both_instances_of_each_service_killed_in_turn_accepted_orders_end_as_promised() {
    storm(3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes four minutes: cargo test -p e2e --test storms -- --ignored"]
async fn the_same_for_a_minute_for_each_service() {
    storm(30).await;
}

async fn storm(kills: usize) {
    let _turn = turn().await;
    let options = Options { two_of_each: true, lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders", "orders-2"]), 2);
    let mut period = interval(PERIOD);
    for service in Part::SERVICES.map(Part::name) {
        let instances = [service.to_owned(), format!("{service}-2")];
        for name in instances.iter().cycle().take(kills) {
            period.tick().await;
            stack.kill(name).await;
            stack.launch(name, &[]);
        }
    }
    for service in Part::SERVICES.map(Part::name) {
        stack.ready(service).await;
        stack.ready(&format!("{service}-2")).await;
    }
    let responses = load.stop().await;
    assert!(!responses.refusals().is_empty(), "the kills of orders refused no request");
    stack.audited(&responses).await;
}
