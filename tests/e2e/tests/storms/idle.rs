//! An installation with nothing to do: no table grows or changes, and nobody is busy.

use std::collections::BTreeMap;
use std::fs;

use audits::Contents;
use e2e::{Customer, Stack};
use testkit::eventually;

use crate::{SERVICES, turn};

/// How often every relay renews its lease meanwhile. Lease and cursor are the only rows that may change.
const HEARTBEATS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_changes_in_an_idle_installation_but_leases_and_cursors() {
    let _turn = turn().await;
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
    stack.at_rest().await;

    let (before, cpu) = (contents(&stack).await, busy(&mut stack));
    let began = std::time::Instant::now();
    for service in SERVICES {
        for _ in 0..HEARTBEATS {
            heartbeat(&stack, service).await;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    for (name, ticks) in busy(&mut stack) {
        let percent = f64::from(ticks - cpu[name]) / seconds; // 100 ticks are a second
        println!("{name}: {percent:.1} % of a processor while idle");
    }
    assert_eq!(contents(&stack).await, before);
}

/// Waits until the relay renews its lease.
async fn heartbeat(stack: &Stack, service: &str) {
    let until = "SELECT (extract(epoch FROM lease_until) * 1000)::bigint AS count FROM outbox_lease";
    let before = stack.count(service, until).await;
    eventually(&format!("the relay of {service} renews its lease"), async || {
        (stack.count(service, until).await != before).then_some(())
    })
    .await;
}

/// What every database holds.
async fn contents(stack: &Stack) -> BTreeMap<&'static str, Contents> {
    let mut all = BTreeMap::new();
    for program in ["orders", "payments", "inventory", "provider"] {
        let contents = audits::contents(&mut stack.database(program).owner().await).await.unwrap();
        assert!(!contents.is_empty());
        all.insert(program, contents);
    }
    all
}

/// The processor time that each program has used, in hundredths of a second.
fn busy(stack: &mut Stack) -> BTreeMap<&'static str, u32> {
    let mut ticks = BTreeMap::new();
    for name in ["orders", "payments", "inventory", "provider"] {
        let stat = fs::read_to_string(format!("/proc/{}/stat", stack.program(name).pid().unwrap())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        ticks.insert(name, fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap());
    }
    ticks
}
