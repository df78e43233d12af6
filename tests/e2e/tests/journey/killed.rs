//! `kill -9` at the worst moments.

use std::os::unix::process::ExitStatusExt;

use e2e::{Customer, Options, Stack, key};
use serde_json::Value;
use testkit::eventually;

async fn captures(stack: &Stack) -> i64 {
    stack.count("provider", "SELECT count(*) FROM charge WHERE status = 'succeeded'").await
}

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
    let (mut stack, mut customer) = warm().await;
    let mut orders = 1;
    for (point, committed) in [("e1", false), ("e2", false), ("e3", false), ("e4", true)] {
        arm(&mut stack, "orders", point).await;
        customer.meets(&stack).await;
        let key = key();
        let broken = customer.placing(&key, 2, "pm_card_visa").send().await;
        assert!(broken.is_err(), "{point}: the connection breaks without an answer");
        let kept = stack.count("orders", "SELECT count(*) FROM orders").await;
        assert_eq!(kept, orders + i64::from(committed), "{point}");

        revive(&mut stack, "orders", point).await;
        customer.meets(&stack).await;
        let answer = customer.placing(&key, 2, "pm_card_visa").send().await.unwrap();
        assert_eq!(answer.status(), 201, "{point}");
        assert_eq!(answer.headers().contains_key("Idempotent-Replayed"), committed, "{point}");
        let order: Value = answer.json().await.unwrap();
        customer.sees(order["id"].as_str().unwrap(), "confirmed").await;
        orders += 1;
        assert_eq!(stack.count("orders", "SELECT count(*) FROM orders").await, orders, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_killed_around_a_charge_charges_once() {
    let (mut stack, mut customer) = warm().await;
    let mut charges = 1;
    for point in ["p1", "p2", "p3", "p4"] {
        arm(&mut stack, "payments", point).await;
        let order = customer.places(2, "pm_card_visa").await;
        revive(&mut stack, "payments", point).await;
        customer.meets(&stack).await;
        customer.sees(&order, "confirmed").await;
        charges += 1;
        assert_eq!(captures(&stack).await, charges, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_killed_around_its_commit_applies_once() {
    let (mut stack, mut customer) = warm().await;
    let mut on_hand = 99;
    for point in ["c1", "c2", "c3", "c4", "c5"] {
        arm(&mut stack, "inventory", point).await;
        let order = customer.places(2, "pm_card_visa").await;
        revive(&mut stack, "inventory", point).await;
        customer.meets(&stack).await;
        customer.sees(&order, "confirmed").await;
        stack.settled().await;
        on_hand -= 2;
        let item = customer.item(e2e::TEA).await;
        assert_eq!(
            (item["on_hand"].as_i64(), item["reserved"].as_i64()),
            (Some(on_hand), Some(0)),
            "{point}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_killed_around_a_publication_loses_nothing() {
    let (mut stack, mut customer) = warm().await;
    for point in ["r1", "r2", "r3", "r4"] {
        stack.program("orders").kill().await;
        stack.launch("orders", &[("IDEM_CRASH", point)]).await;
        customer.meets(&stack).await;
        let key = key();
        // It may be killed at once, publishing again what was not yet checkpointed, or with this order.
        eventually("the order is accepted, or orders is killed", async || {
            let killed = stack.program("orders").has_ended().is_some();
            let answer = customer.placing(&key, 2, "pm_card_visa").send().await;
            (killed || answer.is_ok_and(|answer| answer.status() == 201)).then_some(())
        })
        .await;
        revive(&mut stack, "orders", point).await;
        customer.meets(&stack).await;
        let answer = customer.placing(&key, 2, "pm_card_visa").send().await.unwrap();
        assert_eq!(answer.status(), 201, "{point}");
        let order: Value = answer.json().await.unwrap();
        customer.sees(order["id"].as_str().unwrap(), "confirmed").await;
    }
}
