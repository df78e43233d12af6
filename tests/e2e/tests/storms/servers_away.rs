//! Kafka away for a while, and PostgreSQL restarted, under load.

use std::time::Duration;

use e2e::{Customer, Load, Options, Part, Stack};
use testkit::{Broker, Postgres, eventually};

use crate::turn;

const ACCEPTED: &str = "SELECT count(*) FROM orders";

#[tokio::test(flavor = "multi_thread")]
async fn with_the_broker_away_under_load_accepted_orders_end_as_promised() {
    broker_away_for(Duration::from_secs(12)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes two minutes: cargo test -p e2e --test storms -- --ignored"]
async fn the_same_with_the_broker_away_for_a_minute() {
    broker_away_for(Duration::from_mins(1)).await;
}

async fn broker_away_for(outage: Duration) {
    let _turn = turn().await;
    let mut broker = Broker::start().await;
    let options = Options { brokers: Some(broker.brokers()), ..Options::default() };
    let stack = Stack::with(Options { lease_seconds: Some(2), ..options }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders"]), 2);
    accepted(&stack, 5).await;
    broker.kill().await;
    // This is the length of the outage, and waits for no condition.
    tokio::time::sleep(outage).await;
    accepted(&stack, 5).await;
    broker.start_again().await;
    let responses = load.stop().await;
    let away = responses.refusals().keys().filter(|refusal| refusal.starts_with("503")).count();
    assert_eq!(away, 0, "accepting orders needs no broker: {:?}", responses.refusals());
    stack.audited(&responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgres_restarted_and_killed_under_load_accepted_orders_end_as_promised() {
    let _turn = turn().await;
    let mut postgres = Postgres::start().await;
    let options = Options { postgres: Some(postgres.url()), lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders"]), 4);
    for round in 0..4 {
        accepted(&stack, 10).await;
        if round % 2 == 0 {
            postgres.stop_fast().await;
        } else {
            postgres.kill().await;
        }
        // Long enough for every program to lose its connections.
        tokio::time::sleep(Duration::from_secs(1)).await;
        postgres.start_again().await;
    }
    accepted(&stack, 10).await;
    let responses = load.stop().await;
    assert!(!responses.refusals().is_empty(), "the outage of the database refused no request");
    for program in Part::PROGRAMS.map(Part::name) {
        assert!(stack.has_ended(program).is_none(), "{program} ended with its database");
    }
    stack.audited(&responses).await;
}

/// Waits until so many more orders are accepted.
async fn accepted(stack: &Stack, more: i64) {
    let before = stack.count(Part::ORDERS, ACCEPTED).await;
    eventually("orders are accepted", async || {
        (stack.count(Part::ORDERS, ACCEPTED).await >= before + more).then_some(())
    })
    .await;
}
