//! Several members of a group: rebalances, and batches that were read before one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Scratch, in_time, next, range};
use messaging::{Batch, Subscription, SubscriptionSettings};

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
async fn a_batch_of_a_revoked_partition_moves_no_offset_and_the_kept_partition_reads_on() {
    let scratch = Scratch::new(2).await;
    scratch.fill(60).await;
    let settings = SubscriptionSettings { max_batch: 10, ..scratch.settings() };
    let mut first = scratch.subscribe(settings.clone());
    let before = [next(&mut first).await, next(&mut first).await];
    let mut second = scratch.subscribe(settings);
    let moved = next(&mut second).await;
    assert_eq!(range(&moved), (0, 9), "the batch of the first member is delivered again");
    before.into_iter().for_each(Batch::done);
    let kept = next(&mut first).await;
    assert_ne!(kept.partition(), moved.partition());
    assert_eq!(range(&kept), (10, 19), "no message of the kept partition is delivered again");
    first.shutdown().await; // commits what it has stored
    assert_eq!(scratch.committed().await, 10, "of the kept partition only");
}

/// Waits until two members have so many partitions each. Returns a batch of each partition, by member.
async fn divided(
    each: usize,
    first: &mut Subscription,
    second: &mut Subscription,
) -> [BTreeMap<i32, Batch>; 2] {
    let [mut of_first, mut of_second] = [BTreeMap::new(), BTreeMap::new()];
    in_time("as many partitions for each member", async {
        while (of_first.len(), of_second.len()) != (each, each) {
            let (member, batch) = tokio::select! {
                batch = first.next() => (&mut of_first, batch.unwrap()),
                batch = second.next() => (&mut of_second, batch.unwrap()),
            };
            member.insert(batch.partition(), batch);
            // The member that came first had all partitions before.
            of_first.retain(|_, batch| batch.is_current());
            of_second.retain(|_, batch| batch.is_current());
        }
    })
    .await;
    [of_first, of_second]
}

/// Takes one batch of each of these partitions, and keeps it.
async fn one_of_each(member: &mut Subscription, partitions: usize) -> BTreeMap<i32, Batch> {
    let mut batches = BTreeMap::new();
    while batches.len() < partitions {
        let batch = next(member).await;
        batches.insert(batch.partition(), batch);
    }
    batches
}

/// Finishes these batches. Returns the next batches of the partitions that this member still has: each begins where the last
/// one ended.
async fn read_on(
    member: &mut Subscription,
    batches: BTreeMap<i32, Batch>,
    partitions: usize,
) -> BTreeMap<i32, Batch> {
    let ends: BTreeMap<i32, i64> =
        batches.iter().map(|(partition, batch)| (*partition, range(batch).1)).collect();
    batches.into_values().for_each(Batch::done);
    let next = one_of_each(member, partitions).await;
    for (partition, batch) in &next {
        assert_eq!(range(batch).0, ends[partition] + 1, "partition {partition}");
    }
    next
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_restarts_does_not_interrupt_the_partitions_of_the_others() {
    let scratch = Scratch::new(4).await;
    let settings = SubscriptionSettings { max_batch: 5, ..scratch.settings() };
    let mut first = scratch.subscribe(settings.clone());
    let mut second = scratch.subscribe(settings.clone());
    scratch.fill(400).await;
    let [own, of_second] = divided(2, &mut first, &mut second).await;
    drop(of_second);

    second.shutdown().await;
    let taken_over = one_of_each(&mut first, 2).await;
    let mut all = read_on(&mut first, own, 2).await;
    all.extend(taken_over);

    let mut second = scratch.subscribe(settings);
    let moved = one_of_each(&mut second, 2).await;
    let kept = read_on(&mut first, all, 2).await;
    assert!(kept.keys().all(|partition| !moved.contains_key(partition)));
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

/// The threads of the client library go on, and would keep the membership.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_whose_program_stands_still_loses_its_partitions_and_joins_again_when_it_goes_on() {
    let scratch = Scratch::new(2).await;
    let goes_on = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&goes_on);
    let progress = Arc::new(move || asked.load(Ordering::Relaxed));
    let mut first = scratch.subscribe(SubscriptionSettings { progress, ..scratch.settings() });
    let mut second = scratch.subscribe(scratch.settings());
    scratch.fill(20).await;
    let [of_first, of_second] = divided(1, &mut first, &mut second).await;

    goes_on.store(false, Ordering::Relaxed);
    let moved = next(&mut second).await;
    let first_offsets: Vec<_> = of_first.values().map(|batch| (batch.partition(), range(batch).0)).collect();
    assert_eq!(first_offsets, [(moved.partition(), range(&moved).0)], "it is delivered again");
    drop((of_first, of_second, moved));

    goes_on.store(true, Ordering::Relaxed);
    divided(1, &mut first, &mut second).await;
}
