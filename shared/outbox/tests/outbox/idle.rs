//! An idle relay writes nothing to its cursor, and a busy one writes a few times a second.

use std::time::Duration;

use contracts::{OrderId, streams};
use outbox::RelaySettings;
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{append_one, confirmed, count, is_at_the_start, progress, relay, settings, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_relay_writes_nothing_to_its_cursor() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    // It renews its lease every 600 ms: that shows that it is at work.
    let settings =
        RelaySettings { lease: Duration::from_secs(3), idle_poll: Duration::from_millis(5), ..settings() };
    let relay = relay(&database, &topics, settings);
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    let settled = eventually("a cursor behind the row", async || {
        let progress = progress(&database).await;
        (progress.position == 1 && progress.gaps == "{}").then_some(progress)
    })
    .await;
    let mut last = settled.lease_until;
    for _ in 0..3 {
        last = eventually("a renewed lease", async || {
            // Others go on writing, so each look at the log is another window.
            count(&database, "SELECT pg_current_xact_id()::text::bigint AS count").await;
            let now = progress(&database).await;
            assert_eq!(now.written_by, settled.written_by, "the cursor's row was written: {now:?}");
            (now.lease_until != last).then_some(now.lease_until)
        })
        .await;
    }
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_relay_does_not_write_its_cursor_after_each_message() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay =
        relay(&database, &topics, RelaySettings { checkpoint: Duration::from_mins(10), ..settings() });
    let publish = async |number| {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
        wait_for(&topics, streams::ORDERS, number).await;
        progress(&database).await
    };
    let before = publish(1).await;
    for number in 2..=5 {
        publish(number).await;
    }
    let busy = publish(6).await;
    assert_eq!(busy.written_by, before.written_by, "the cursor's row was written: {busy:?}");
    relay.stop().await;
    let stopped = progress(&database).await;
    assert!(!is_at_the_start(&stopped), "what was published was not written down at the end: {stopped:?}");
}
