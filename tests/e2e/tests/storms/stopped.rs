//! SIGTERM under load, many times: begun requests are finished, and later ones go to the other instance.

use e2e::{Customer, Load, Options, Part, Stack};

use crate::turn;

/// How many programs get a SIGTERM.
const TIMES: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn instances_stopped_fifty_times_under_load_give_no_wrong_response_and_lose_nothing() {
    let _turn = turn().await;
    let options = Options { two_of_each: true, ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders", "orders-2"]), 3);
    // orders after each other service, because clients meet only its instances.
    let others = [1, 2].into_iter().flat_map(|number| {
        let others = Part::SERVICES.into_iter().filter(|part| *part != Part::ORDERS);
        others.flat_map(move |part| [Part::ORDERS.instance(number), part.instance(number)])
    });
    let instances: Vec<String> = others.map(|instance| instance.to_string()).collect();
    for name in instances.iter().cycle().take(TIMES) {
        stack.stop(name).await;
        stack.launch_ready(name, &[]).await;
    }
    let responses = load.stop().await;
    assert_eq!(responses.unanswered(), 0, "{:?}", responses.refusals());
    stack.audited(&responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rolling_restarts_under_load_refuse_no_client_that_follows_retry_after() {
    let _turn = turn().await;
    let mut stack = Stack::with(Options { two_of_each: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::following_retry_after(&customer, &stack.services(2));
    for _ in 0..2 {
        for service in Part::SERVICES {
            for instance in [service.instance(1), service.instance(2)] {
                let name = instance.to_string();
                stack.stop(&name).await;
                stack.launch_ready(&name, &[]).await;
                load.came_again().await;
            }
        }
    }
    let responses = load.stop().await;
    let refusals = responses.refusals();
    assert!(refusals.contains_key("no connection"), "the restarts refused no connection: {refusals:?}");
    assert_eq!(responses.unanswered(), 0, "{refusals:?}");
    stack.audited(&responses).await;
}
