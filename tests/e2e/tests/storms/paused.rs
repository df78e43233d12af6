//! A process that stands still for longer than its lease or its session, and then goes on as if nothing had been.

use contracts::Stream;
use e2e::{Customer, Load, Options, Stack};
use testkit::eventually;

use crate::{SERVICES, turn};

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_was_paused_past_its_lease_causes_nothing_but_duplicates() {
    let _turn = turn().await;
    let options =
        Options { two_of_each: true, relays_apart: true, lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &[stack.address("orders"), stack.address("orders-2")], 2);
    for service in SERVICES {
        let active = active_relay(&mut stack, service).await;
        let turns = "SELECT count(*) FROM outbox_cursor AS cursor, outbox_lease AS lease \
                     WHERE cursor.epoch = lease.epoch AND lease.epoch > ";
        let epoch = stack.count(service, "SELECT epoch AS count FROM outbox_lease").await;
        let events = stack.count(service, "SELECT count(*) FROM outbox_event").await;
        stack.program(&active).pause();
        eventually(&format!("the other relay of {service} has published something new"), async || {
            (stack.count(service, &format!("{turns}{epoch}")).await == 1
                && stack.topics().count(stream(service)).await > usize::try_from(events).unwrap())
            .then_some(())
        })
        .await;
        stack.program(&active).resume();
        eventually(&format!("{active} learns that it was replaced"), async || {
            stack.program(&active).log().contains("relay stopped;").then_some(())
        })
        .await;
    }
    let answers = load.stop().await;
    stack.audited(&answers).await;
}

fn stream(service: &str) -> Stream {
    Stream::ALL.into_iter().find(|stream| stream.name() == service).expect("a service's stream")
}

/// The lease names its holder by the process's id.
async fn active_relay(stack: &mut Stack, service: &str) -> String {
    let holder = "SELECT coalesce(max(split_part(owner, '-', 1)::bigint), 0) AS count FROM outbox_lease \
                  WHERE lease_until > clock_timestamp()";
    let relays = [format!("{service}-relay"), format!("{service}-relay-2")];
    let pid = eventually(&format!("a relay of {service} is active"), async || {
        Some(stack.count(service, holder).await).filter(|pid| *pid > 0)
    })
    .await;
    let mut is_active = |name: &String| stack.program(name).pid().map(i64::from) == Some(pid);
    relays
        .into_iter()
        .find(|name| is_active(name))
        .unwrap_or_else(|| panic!("no relay of {service} is {pid}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_was_paused_past_its_session_causes_nothing_but_duplicates() {
    let _turn = turn().await;
    let options = Options { two_of_each: true, lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    // Customers of the one that stands still would wait for it.
    let load = Load::start(&customer, &[stack.address("orders-2")], 2);
    for service in SERVICES {
        let other = format!("{service}-2");
        let all = if service == "orders" { 12 } else { 6 };
        stack.program(service).pause();
        eventually(&format!("{other} has every partition"), async || {
            (assigned(&mut stack, &other).last() == Some(&all)).then_some(())
        })
        .await;
        let confirmed = "SELECT count(*) FROM orders WHERE state = 'confirmed'";
        let before = stack.count("orders", confirmed).await;
        eventually("orders are confirmed without it", async || {
            (stack.count("orders", confirmed).await >= before + 5).then_some(())
        })
        .await;
        let assignments = assigned(&mut stack, service).len();
        stack.program(service).resume();
        eventually(&format!("{service} is in its group again"), async || {
            (assigned(&mut stack, service).len() > assignments).then_some(())
        })
        .await;
    }
    let answers = load.stop().await;
    stack.audited(&answers).await;
}

/// How many partitions a program was given, each time.
fn assigned(stack: &mut Stack, name: &str) -> Vec<i64> {
    let lines = stack.program(name).lines();
    let assigned = lines.iter().filter(|line| line["message"] == "partitions assigned");
    assigned.filter_map(|line| line["partitions"].as_i64()).collect()
}
