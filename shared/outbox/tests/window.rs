#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Transactions that commit in another order than their ids.

mod common;

use common::{
    HalfDone, append_one, confirmed, first_occurrences, patient, progress, relay, settings, short_lived,
    wait_for, write,
};
use contracts::{OrderId, Stream};
use testkit::{TestDatabase, TestTopics, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_with_a_smaller_id_is_neither_lost_nor_waited_for() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay = relay(&database, &topics, settings());
    let [late, early, after] = [OrderId::generate(), OrderId::generate(), OrderId::generate()];

    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(late)).await;
    append_one(&database, 1, &confirmed(early)).await;
    wait_for(&topics, Stream::Orders, 1).await; // while the first transaction is open
    let published = first_occurrences(&topics.messages(Stream::Orders).await);
    assert_eq!(published.into_keys().collect::<Vec<_>>(), [early.uuid()]);
    append_one(&database, 1, &confirmed(after)).await;
    wait_for(&topics, Stream::Orders, 2).await;

    open.commit().await.unwrap();
    wait_for(&topics, Stream::Orders, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(Stream::Orders).await);
    assert!(published.contains_key(&late.uuid()), "the late one is missing: {published:?}");
}

/// The first relay dies in the middle of a window: one of its rows is acknowledged, the other cannot be, because its
/// topic does not exist yet. Before the second relay takes over, a transaction commits that the window did not see,
/// with an id smaller than the cursor's.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_in_the_middle_of_a_window_loses_nothing() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let HalfDone { late, sent, .. } = HalfDone::prepare(&database, &topics).await;
    let begun = progress(&database).await;
    topics.make(&[Stream::Inventory]).await;

    let second = relay(&database, &topics, short_lived());
    wait_for(&topics, Stream::Inventory, 1).await;
    let published = eventually("the late row", async || {
        let published = first_occurrences(&topics.messages(Stream::Orders).await);
        (published.len() == 2).then_some(published)
    })
    .await;
    assert!(published.contains_key(&late.uuid()) && published.contains_key(&sent.uuid()), "{published:?}");
    second.stop().await;
    assert!(progress(&database).await.epoch > begun.epoch, "no relay took over");
}
