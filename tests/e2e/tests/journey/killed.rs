//! `kill -9` around the commit of a command: what its client finds when it asks again. The other crash points have
//! their turns under load, in `storms`.

use std::os::unix::process::ExitStatusExt;

use e2e::{Customer, Options, Stack, key};
use serde_json::Value;

/// A stack with stock, and a customer whose first order shows that everybody knows everything.
async fn warm() -> (Stack, Customer) {
    let stack = Stack::with(Options { lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
    stack.settled().await;
    (stack, customer)
}

/// Lets a program run into a crash point.
async fn arm(stack: &mut Stack, name: &'static str, point: &str) {
    stack.program(name).kill().await;
    stack.launch_ready(name, &[("IDEM_CRASH", point)]).await;
}

/// Sees it killed there, and starts it again.
async fn revive(stack: &mut Stack, name: &'static str, point: &str) {
    let status = stack.program(name).ended().await;
    assert_eq!(status.signal(), Some(9), "{name} is killed at {point}");
    stack.launch_ready(name, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_killed_around_its_commit_replays_exactly_what_was_committed() {
    let (mut stack, customer) = warm().await;
    let mut orders = 1;
    for (point, committed) in [
        ("execute.key_claimed", false),
        ("execute.command_done", false),
        ("execute.before_commit", false),
        ("execute.after_commit", true),
    ] {
        arm(&mut stack, "orders", point).await;
        let key = key();
        let broken = customer.placing(&key, 2, "pm_card_visa").send().await;
        assert!(broken.is_err(), "{point}: the connection breaks without an answer");
        let kept = stack.count("orders", "SELECT count(*) FROM orders").await;
        assert_eq!(kept, orders + i64::from(committed), "{point}");

        revive(&mut stack, "orders", point).await;
        let answer = customer.placing(&key, 2, "pm_card_visa").send().await.unwrap();
        assert_eq!(answer.status(), 201, "{point}");
        assert_eq!(answer.headers().contains_key("Idempotent-Replayed"), committed, "{point}");
        let order: Value = answer.json().await.unwrap();
        customer.sees(order["id"].as_str().unwrap(), "confirmed").await;
        orders += 1;
        assert_eq!(stack.count("orders", "SELECT count(*) FROM orders").await, orders, "{point}");
    }
}
