//! An installation without requests: no table changes except leases and cursors. Processor time is printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2e::{Customer, Part, Stack};
use harness::process::cpu_time;
use testkit::eventually;

use crate::turn;

/// How often every relay renews its lease meanwhile.
const RENEWALS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_changes_in_an_idle_installation_but_leases_and_cursors() {
    let _turn = turn().await;
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;

    let (before, used) = (stack.books().contents().await.unwrap(), cpu_times(&mut stack));
    let start = Instant::now();
    for service in Part::SERVICES {
        for _ in 0..RENEWALS {
            lease_renewed(&stack, service).await;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    for (part, time) in cpu_times(&mut stack) {
        let percent = 100.0 * time.saturating_sub(used[&part]).as_secs_f64() / seconds;
        println!("{}: {percent:.1} % of a processor while idle", part.name());
    }
    for part in Part::PROGRAMS {
        assert!(before.keys().any(|(of, _)| *of == part), "{} has no table", part.name());
    }
    assert_eq!(stack.books().contents().await.unwrap(), before);
}

/// Waits until the relay renews its lease.
async fn lease_renewed(stack: &Stack, service: Part) {
    let until = "SELECT (extract(epoch FROM lease_until) * 1000)::bigint AS count FROM outbox_lease";
    let before = stack.count(service, until).await;
    eventually(&format!("the relay of {} renews its lease", service.name()), async || {
        (stack.count(service, until).await != before).then_some(())
    })
    .await;
}

/// The processor time of each program so far.
fn cpu_times(stack: &mut Stack) -> BTreeMap<Part, Duration> {
    let time = |part: Part| (part, cpu_time(stack.program(part.name()).pid().unwrap()).unwrap());
    Part::PROGRAMS.map(time).into()
}
