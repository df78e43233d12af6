//! Partitions are added to a topic: a key maps to another partition, where its later messages overtake earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_with;
use std::sync::Arc;

use contracts::events::{OrderConfirmed, OrderPlaced};
use contracts::{OrderId, streams};
use database::Tx;
use envelope::Message;
use inbox::{Consumer, no_locks};
use messaging::topics::{TopicSpec, ensure};
use rdkafka::admin::{AdminOptions, NewPartitions};
use testkit::{TestTopics, admin_client, eventually};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::common::{
    CONSUMER, TestRecord, confirmed, database, effects, parked, placed, publish, record, record_effect, run,
    slow_pool, wait_for_effects,
};

/// The topic has so many partitions before and after.
const FEW: i32 = 2;
const MANY: usize = 8;

/// Messages of these sequences of each order, in order for each order.
fn histories(
    topics: &TestTopics,
    orders: &[OrderId],
    sequences: std::ops::RangeInclusive<i64>,
) -> Vec<TestRecord> {
    sequences
        .flat_map(|sequence| orders.iter().map(move |order| record(topics, sequence, &confirmed(*order))))
        .collect()
}

async fn add_partitions(topic: &str, total: usize) {
    let new = [NewPartitions::new(topic, total)];
    let added = admin_client().create_partitions(&new, &AdminOptions::new()).await;
    assert_eq!(added.unwrap(), [Ok(topic.to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_under_load_change_neither_order_nor_effects() {
    let (database, topics) = (database().await, TestTopics::names());
    let topic = topics.events(streams::ORDERS);
    ensure(&topics.brokers(), &[TopicSpec::new(&topic, FEW)]).await.unwrap();
    let go_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&go_on);
    let consumer = Consumer::of(CONSUMER)
        .on(no_locks, async move |_: &mut Tx, _: &Message<OrderPlaced>| {
            let _ = gate.acquire().await;
            Ok(())
        })
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await);
    // Each of the first partitions waits in the handler of its first message.
    let mut waiting = BTreeSet::new();
    while waiting.len() < usize::try_from(FEW).unwrap() {
        waiting.extend(publish(&topics, &[record(&topics, 1, &placed(OrderId::generate()))]).await);
    }
    let running = run(&slow_pool(&database), &topics, consumer);
    let orders: Vec<OrderId> = repeat_with(OrderId::generate).take(40).collect();
    publish(&topics, &histories(&topics, &orders, 1..=3)).await;

    add_partitions(&topic, MANY).await;
    let moved = eventually("messages in new partitions", async || {
        let partitions = publish(&topics, &histories(&topics, &orders, 4..=6)).await;
        partitions.iter().any(|partition| *partition >= FEW).then_some(partitions)
    })
    .await;
    assert!(moved.len() > 40);
    eventually("messages that overtook earlier ones", async || {
        parked(&database).await.iter().any(|message| message.state == "held").then_some(())
    })
    .await;
    go_on.close();
    publish(&topics, &histories(&topics, &orders, 7..=9)).await;
    wait_for_effects(&database, orders.len() * 9).await;
    eventually("no message that is held", async || parked(&database).await.is_empty().then_some(())).await;
    running.stop().await;

    let mut found: BTreeMap<Uuid, Vec<i64>> = BTreeMap::new();
    for (order, sequence) in effects(&database).await {
        found.entry(order).or_default().push(sequence);
    }
    let whole: Vec<i64> = (1..=9).collect();
    assert_eq!(found, orders.iter().map(|order| (order.uuid(), whole.clone())).collect());
}
