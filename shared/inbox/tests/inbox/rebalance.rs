//! Rebalances: several members share the partitions, and two of them may briefly hold the same messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contracts::events::OrderConfirmed;
use contracts::{OrderId, streams};
use database::{Database, Tx};
use envelope::Message;
use inbox::{Consumer, InboxMetrics, no_locks};
use testkit::{Metrics, TestTopics, eventually};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::common::{
    CONSUMER, confirmed, count, database, effects, parked, publish, record, record_effect, run, slow_pool,
    wait_for_effects,
};

/// Publishes a few events of many orders, over all partitions.
async fn post_histories(topics: &TestTopics, orders: &[OrderId], sequences: std::ops::RangeInclusive<i64>) {
    let records: Vec<_> = sequences
        .flat_map(|sequence| orders.iter().map(move |order| record(topics, sequence, &confirmed(*order))))
        .collect();
    publish(topics, &records).await;
}

async fn by(database: &Database, instance: &str) -> i64 {
    count(database, &format!("SELECT count(*) AS count FROM effect WHERE instance = '{instance}'")).await
}

/// Reads one topic only. The group divides partitions, and may give one member all partitions of a topic without messages.
fn of_orders(instance: &'static str) -> Consumer {
    Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
        record_effect(tx, instance, m).await
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_member_doubles_nothing() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(30).collect();
    let first = run(&database, &topics, of_orders("first"));
    post_histories(&topics, &orders, 1..=5).await;
    wait_for_effects(&database, 1).await;
    let second = run(&database.second_instance(), &topics, of_orders("second"));
    let mut published = 5;
    while by(&database, "second").await == 0 {
        post_histories(&topics, &orders, published + 1..=published + 1).await;
        published += 1;
    }
    topics.wait_until_consumed(CONSUMER, &[streams::ORDERS]).await;
    first.stop().await; // and back to one
    post_histories(&topics, &orders, published + 1..=published + 5).await;
    topics.wait_until_consumed(CONSUMER, &[streams::ORDERS]).await;
    second.stop().await;

    let mut histories: BTreeMap<Uuid, Vec<i64>> = BTreeMap::new();
    for (order, sequence) in effects(&database).await {
        histories.entry(order).or_default().push(sequence);
    }
    let whole: Vec<i64> = (1..=published + 5).collect();
    assert_eq!(histories, orders.iter().map(|order| (order.uuid(), whole.clone())).collect());
    assert!(parked(&database).await.is_empty());
}

/// The first member is slow. Its partitions go to the second member while it still applies their batches,
/// so the second member gets the same messages. Then the first one commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_from_before_a_rebalance_takes_effect_once() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(30).collect();
    post_histories(&topics, &orders, 1..=1).await;
    let go_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go_on);
    let slow = Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
        record_effect(tx, "slow", m).await?;
        let _ = gate.acquire().await;
        Ok(())
    });
    let slow_pool = slow_pool(&database);
    let first = run(&slow_pool, &topics, slow);
    let in_handler = "SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() \
         AND state = 'idle in transaction' AND query LIKE 'INSERT INTO \"effect\"%'";
    // Messages that the first member has not received yet would go to the second one, which would wait for nothing.
    eventually("all messages in transactions that have begun", async || {
        let metrics = Metrics::counted::<InboxMetrics>(&slow_pool);
        let [batches, messages] =
            ["count", "sum"].map(|of| metrics.count(&format!("inbox_batch_messages_{of}")));
        (messages == 30 && count(&database, in_handler).await == batches).then_some(())
    })
    .await;

    let second = run(&database.second_instance(), &topics, of_orders("second"));
    let blocked = "SELECT count(*) AS count FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("the second member at the same messages", async || {
        (count(&database, blocked).await > 0).then_some(())
    })
    .await;
    go_on.close();
    topics.wait_until_consumed(CONSUMER, &[streams::ORDERS]).await;
    first.stop().await;
    second.stop().await;
    let effects = effects(&database).await;
    let orders: BTreeSet<(Uuid, i64)> = orders.iter().map(|order| (order.uuid(), 1)).collect();
    assert_eq!(effects.len(), orders.len());
    assert_eq!(effects.into_iter().collect::<BTreeSet<_>>(), orders);
    assert!(by(&database, "slow").await > 0);
    assert!(parked(&database).await.is_empty());
}
