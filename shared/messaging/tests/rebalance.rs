//! Several members of a group: rebalances, and batches that were read before one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{A_WHILE, Scratch, in_time, next, range};
use messaging::SubscriptionSettings;

#[tokio::test(flavor = "multi_thread")]
async fn a_rebalance_with_two_members_delivers_everything_at_least_once() {
    let scratch = Scratch::new(6).await;
    scratch.fill(300).await;
    let settings = SubscriptionSettings { max_batch: 7, ..scratch.settings() };
    let mut seen = BTreeSet::new();
    let mut first = scratch.subscribe(settings.clone());
    let mut held = vec![next(&mut first).await, next(&mut first).await];
    let mut second = scratch.subscribe(settings);
    held.push(next(&mut second).await); // the group has divided the partitions while batches are out
    in_time("every message, and every offset committed", async {
        loop {
            let batch = tokio::select! {
                batch = first.next() => batch,
                batch = second.next() => batch,
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    if seen.len() == 300 && scratch.committed().await == 300 {
                        return;
                    }
                    held.pop()
                }
            };
            if let Some(batch) = batch {
                seen.extend(batch.messages().iter().map(|message| message.payload.clone().unwrap()));
                batch.done();
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_batches_are_committed_before_a_rebalance() {
    let scratch = Scratch::new(2).await;
    scratch.fill(60).await;
    let never = Duration::from_hours(1);
    let settings = SubscriptionSettings { max_batch: 10, commit_interval: never, ..scratch.settings() };
    let mut first = scratch.subscribe(settings.clone());
    for batch in [next(&mut first).await, next(&mut first).await] {
        assert_eq!(range(&batch), (0, 9));
        batch.done();
    }
    let held = [next(&mut first).await, next(&mut first).await]; // so its thread has received that the others are done
    let mut second = scratch.subscribe(settings);
    assert_eq!(range(&next(&mut second).await), (10, 19));
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_from_before_a_rebalance_moves_no_offset() {
    let scratch = Scratch::new(2).await;
    scratch.fill(60).await;
    let settings = SubscriptionSettings { max_batch: 10, ..scratch.settings() };
    let mut first = scratch.subscribe(settings.clone());
    let stale = [next(&mut first).await, next(&mut first).await];
    let mut second = scratch.subscribe(settings);
    let moved = next(&mut second).await;
    assert_eq!(range(&moved), (0, 9));

    let early = tokio::time::timeout(A_WHILE, first.next()).await;
    assert!(early.is_err(), "the kept partition waits for its batch from before the rebalance");
    stale.into_iter().for_each(messaging::Batch::done);
    let kept = next(&mut first).await;
    assert_ne!(kept.partition(), moved.partition());
    assert_eq!(range(&kept), (0, 9), "messages that are done too late are delivered again");
    first.shutdown().await; // commits what it has stored
    assert_eq!(scratch.committed().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_leaves_hands_its_partitions_over() {
    let scratch = Scratch::new(2).await;
    let mut first = scratch.subscribe(scratch.settings());
    let mut second = scratch.subscribe(scratch.settings());
    scratch.fill(20).await;
    let mut read = BTreeSet::new();
    while read.len() < 20 {
        let batch = in_time("a batch", async {
            tokio::select! { b = first.next() => b, b = second.next() => b }
        });
        let batch = batch.await.unwrap();
        read.extend(batch.messages().iter().map(|message| message.payload.clone().unwrap()));
        batch.done();
    }
    scratch.wait_until_committed(20).await;
    first.shutdown().await;
    scratch.fill(20).await;
    let mut partitions = BTreeSet::new();
    while partitions.len() < 2 {
        let batch = next(&mut second).await;
        partitions.insert(batch.partition());
        batch.done();
    }
}
