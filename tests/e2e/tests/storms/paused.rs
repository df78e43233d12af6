//! A process is paused for longer than its lease or its session, and then resumed.

use e2e::{Customer, Load, Options, Part, Stack, publishers};
use testkit::eventually;

use crate::turn;

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_was_paused_past_its_lease_causes_nothing_but_duplicates() {
    let _turn = turn().await;
    let options =
        Options { two_of_each: true, separate_relays: true, lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders", "orders-2"]), 2);
    for service in publishers() {
        let active = active_relay(&mut stack, service).await;
        let turns = "SELECT count(*) FROM outbox_cursor AS cursor, outbox_lease AS lease \
                     WHERE cursor.epoch = lease.epoch AND lease.epoch > ";
        let epoch = stack.count(service, "SELECT epoch AS count FROM outbox_lease").await;
        let events = stack.count(service, "SELECT count(*) FROM outbox_event").await;
        stack.program(&active).pause().unwrap();
        eventually(&format!("the other relay of {} has published a new event", service.name()), async || {
            (stack.count(service, &format!("{turns}{epoch}")).await == 1
                && stack.kafka().count(service.stream()).await.unwrap() > usize::try_from(events).unwrap())
            .then_some(())
        })
        .await;
        stack.program(&active).resume().unwrap();
        eventually(&format!("{active} learns that it was replaced"), async || {
            stack.program(&active).log().contains("relay stopped;").then_some(())
        })
        .await;
    }
    let responses = load.stop().await;
    stack.audited(&responses).await;
}

/// The name of the relay that has the lease.
async fn active_relay(stack: &mut Stack, service: Part) -> String {
    let relays = [service.relay(1), service.relay(2)].map(|relay| relay.to_string());
    eventually(&format!("a relay of {} has the lease", service.name()), async || {
        let holder = stack.books().lease(service).await.unwrap().process();
        relays.iter().find(|name| holder.is_some() && stack.program(name).pid() == holder).cloned()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_was_paused_past_its_session_causes_nothing_but_duplicates() {
    let _turn = turn().await;
    let options = Options { two_of_each: true, lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    // Requests to the paused instance would wait for it.
    let load = Load::start(&customer, &stack.endpoints(&["orders-2"]), 2);
    for service in Part::SERVICES.map(Part::name) {
        let other = format!("{service}-2");
        // Six of each topic that it reads.
        let all = 6 * i64::try_from(services::named(service).unwrap().reads.len()).unwrap();
        stack.program(service).pause().unwrap();
        eventually(&format!("{other} has every partition"), async || {
            (partitions(&mut stack, &other) == all).then_some(())
        })
        .await;
        let confirmed = "SELECT count(*) FROM orders WHERE state = 'confirmed'";
        let before = stack.count(Part::ORDERS, confirmed).await;
        eventually("orders are confirmed without it", async || {
            (stack.count(Part::ORDERS, confirmed).await >= before + 5).then_some(())
        })
        .await;
        let before = assignments(&mut stack, service);
        stack.program(service).resume().unwrap();
        eventually(&format!("{service} is in its group again"), async || {
            (assignments(&mut stack, service) > before).then_some(())
        })
        .await;
    }
    let responses = load.stop().await;
    stack.audited(&responses).await;
}

/// Returns how often a program was given partitions.
fn assignments(stack: &mut Stack, name: &str) -> usize {
    stack.program(name).lines().iter().filter(|line| line["message"] == "partitions assigned").count()
}

/// Returns how many partitions a program has. An assignment adds to those that it keeps.
fn partitions(stack: &mut Stack, name: &str) -> i64 {
    let lines = stack.program(name).lines();
    let total = |message: &str| -> i64 {
        let lines = lines.iter().filter(|line| line["message"] == message);
        lines.filter_map(|line| line["partitions"].as_i64()).sum()
    };
    total("partitions assigned") - total("partitions revoked")
}
