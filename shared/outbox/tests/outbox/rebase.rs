//! A database whose transaction numbers went back: restored from a dump, or promoted.

use chrono::{DateTime, Utc};
use contracts::{OrderId, streams};
use database::Database;
use database::functions::clock_timestamp;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{
    append_one, confirmed, context, first_occurrences, json_output, patient, progress, relay, settings,
    short_lived, wait_for, write,
};

/// What a dump from a server with greater transaction numbers leaves in the tables.
const FROM_ANOTHER_SERVER: &str = "\
    UPDATE outbox_event SET xid = ('9000000000' || id::text)::xid8; \
    UPDATE outbox_cursor SET server = '1234567890/00000001', floor_a = 1, \
           snapshot_a = '90000000002:90000000002:', snapshot_b = NULL, last_id = 0";

/// One row is published before the dump, the other is not.
async fn restored() -> (TestDatabase, [OrderId; 2]) {
    let database = TestDatabase::plain().await;
    let orders = [OrderId::generate(), OrderId::generate()];
    for order in orders {
        append_one(&database, 1, &confirmed(order)).await;
    }
    database.owner().await.batch_execute(FROM_ANOTHER_SERVER).await.unwrap();
    (database, orders)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_every_row_is_published_old_and_new() {
    let (topics, (database, old)) = (TestTopics::create().await, restored().await);
    let waiting = json_output(&context(&database, &topics), &["status"]).await;
    assert_eq!(waiting["backlog"]["rows"], 1, "the cursor of the other server still says which row waits");

    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 2).await;
    let new = OrderId::generate();
    append_one(&database, 1, &confirmed(new)).await;
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    for order in [old[0], old[1], new] {
        assert!(published.contains_key(&order.uuid()), "{order} is missing: {published:?}");
    }
    let drained = json_output(&context(&database, &topics), &["status"]).await;
    assert_eq!(drained["backlog"]["rows"], 0, "{drained}");
}

/// A row that was written before the relay saw the restored database has a small number, as if it had been published long ago.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_was_written_before_the_relay_noticed_the_restore_is_published() {
    let (topics, (database, _)) = (TestTopics::create().await, restored().await);
    let early = OrderId::generate();
    append_one(&database, 1, &confirmed(early)).await;
    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&early.uuid()), "{published:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_waits_for_open_writers_and_loses_none() {
    let (topics, (database, _)) = (TestTopics::create().await, restored().await);
    let late = OrderId::generate();
    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(late)).await;
    let relay = relay(&database, &topics, settings());
    eventually("a relay that waits for the writer", async || {
        let waits = "SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND mode = 'ShareLock' \
                        AND relation = 'outbox_event'::regclass";
        (crate::common::count(&database, waits).await == 1).then_some(())
    })
    .await;
    open.commit().await.unwrap();
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&late.uuid()), "{published:?}");
}

/// The numbers of the same server went back, as after a failover to a standby behind the same address.
#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_runs_notices_that_the_numbers_went_back() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay = relay(&database, &topics, short_lived());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    let ahead = "UPDATE outbox_cursor SET snapshot_a = '90000000002:90000000002:'";
    database.owner().await.batch_execute(ahead).await.unwrap();

    let skipped = OrderId::generate();
    append_one(&database, 1, &confirmed(skipped)).await;
    let relay = crate::common::relay(&database, &topics, short_lived());
    wait_for(&topics, streams::ORDERS, 3).await; // the first row again, as a duplicate
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&skipped.uuid()), "{published:?}");
}

/// What the service knows before the relay has noticed the restore, afterwards, and without a restore.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_learns_that_its_database_was_restored_after_a_time() {
    let (topics, (database, _)) = (TestTopics::create().await, restored().await);
    let before = now(&database).await;
    assert!(is_restored_since(&database, before).await);
    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 2).await;
    assert!(is_restored_since(&database, before).await);
    assert!(!is_restored_since(&database, now(&database).await).await, "a later time");
    relay.stop().await;
    let other = TestDatabase::plain().await;
    assert!(!is_restored_since(&other, before).await);
}

async fn now(database: &Database) -> DateTime<Utc> {
    diesel::select(clock_timestamp()).get_result(&mut database.connection().await.unwrap()).await.unwrap()
}

async fn is_restored_since(database: &Database, time: DateTime<Utc>) -> bool {
    let mut tx = database.begin().await.unwrap();
    let is_restored = outbox::is_restored_since(&mut tx, time).await.unwrap();
    tx.rollback().await.unwrap();
    is_restored
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_server_is_not_rebased() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    for _ in 0..2 {
        let relay = relay(&database, &topics, short_lived());
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
        eventually("a drained outbox", async || {
            let report = json_output(&context(&database, &topics), &["status"]).await;
            (report["backlog"]["rows"] == 0).then_some(())
        })
        .await;
        relay.stop().await;
    }
    assert_eq!(topics.count(streams::ORDERS).await, 2, "none twice");
    assert!(progress(&database).await.snapshot_b.is_none());
}

/// A promoted standby has the numbers of its primary, and another timeline. What was published may be lost at a consumer that
/// was promoted, too.
#[tokio::test(flavor = "multi_thread")]
async fn another_timeline_publishes_everything_again() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let first = relay(&database, &topics, short_lived());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    first.stop().await;
    let promoted = "UPDATE outbox_cursor SET server = replace(server, '/00000001', '/00000000')";
    database.owner().await.batch_execute(promoted).await.unwrap();
    let second = relay(&database, &topics, short_lived());
    wait_for(&topics, streams::ORDERS, 2).await;
    second.stop().await;
}

/// A relay that sends no statement during a failover gets no error. The numbers of the new server may have overtaken the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_gets_no_error_notices_another_timeline_before_it_publishes() {
    let (topics, database) = (TestTopics::create().await, TestDatabase::plain().await);
    let relay = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    let promoted = "CREATE OR REPLACE FUNCTION outbox_timeline() RETURNS text LANGUAGE sql STABLE AS $$ SELECT '00000002' $$";
    database.owner().await.batch_execute(promoted).await.unwrap();
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    // Both orders, the first one again.
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
}
