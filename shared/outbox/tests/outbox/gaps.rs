//! Transactions that commit in another order than their ids.

use std::time::Duration;

use contracts::{OrderId, streams};
use database::{Database, Settings};
use diesel_async::SimpleAsyncConnection;
use outbox::RelaySettings;
use testkit::{TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;

use crate::common::{
    HalfDone, append_one, assert_each_row_was_read, confirmed, count, counted, fill, first_occurrences,
    patient, progress, relay, settings, short_lived, wait_for, without_autovacuum, write,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_with_a_smaller_id_is_not_lost_and_does_not_block() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay = relay(&database, &topics, settings());
    let [late, early, after] = [OrderId::generate(), OrderId::generate(), OrderId::generate()];

    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(late)).await;
    append_one(&database, 1, &confirmed(early)).await;
    wait_for(&topics, streams::ORDERS, 1).await; // while the first transaction is open
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published.into_keys().collect::<Vec<_>>(), [early.uuid()]);
    append_one(&database, 1, &confirmed(after)).await;
    wait_for(&topics, streams::ORDERS, 2).await;

    open.commit().await.unwrap();
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&late.uuid()), "the late one is missing: {published:?}");
}

/// The first relay dies with one row acknowledged, and another one under way, because its topic does not exist yet. Before the second
/// relay takes over, a transaction commits that the first one did not see, with a smaller id.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_loses_neither_a_late_row_nor_one_under_way() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let HalfDone { late, sent, .. } = HalfDone::prepare(&database, &topics).await;
    let begun = progress(&database).await;
    topics.make(&[streams::INVENTORY]).await;

    let second = relay(&database, &topics, short_lived());
    wait_for(&topics, streams::INVENTORY, 1).await;
    let published = eventually("the late row", async || {
        let published = first_occurrences(&topics.messages(streams::ORDERS).await);
        (published.len() == 2).then_some(published)
    })
    .await;
    assert!(published.contains_key(&late.uuid()) && published.contains_key(&sent.uuid()), "{published:?}");
    second.stop().await;
    assert!(progress(&database).await.epoch > begun.epoch, "no relay took over");
}

/// The id of each row is drawn by a function that then waits for lock 42.
const STOP_AFTER_THE_ID: &str = "\
    ALTER TABLE outbox_event ALTER COLUMN id DROP IDENTITY; \
    CREATE SEQUENCE outbox_event_id_seq CACHE 1; \
    GRANT USAGE, SELECT ON SEQUENCE outbox_event_id_seq TO idem_service; \
    CREATE FUNCTION draw_id() RETURNS bigint LANGUAGE plpgsql AS $$ \
        DECLARE drawn bigint := nextval('outbox_event_id_seq'); \
        BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN drawn; END $$; \
    ALTER TABLE outbox_event ALTER COLUMN id SET DEFAULT draw_id();";

/// A row whose transaction stops after its id is drawn. Meanwhile the relay publishes a row with the next id, and finds the gap.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_stops_after_its_first_id_is_not_lost() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let mut owner = database.owner().await;
    owner.batch_execute(STOP_AFTER_THE_ID).await.unwrap();
    // `nextval` writes to the WAL every 32 ids, and draws a transaction number for that. The writer's call does not.
    owner.batch_execute("SELECT nextval('outbox_event_id_seq')").await.unwrap();
    owner.batch_execute("SELECT pg_advisory_lock(42)").await.unwrap();
    let patient =
        Settings { lock_timeout: Duration::from_mins(1), ..Settings::new(database.service_url(None)) };
    let patient = Database::new(&patient, Handle::current()).unwrap();
    let stopped = OrderId::generate();
    let writer = patient.clone().spawn(async move { append_one(&patient, 1, &confirmed(stopped)).await });
    eventually("a writer that has its id", async || {
        let waits = "SELECT count(*) AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 42 \
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (count(&database, waits).await == 1).then_some(())
    })
    .await;

    let relay = relay(&database, &topics, settings());
    owner
        .batch_execute(
            "INSERT INTO outbox_event (id, event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, \
             source, tenant_id, payload) \
             SELECT nextval('outbox_event_id_seq'), id, 'orders.events', id, 'order', id, 1, 'orders.OrderConfirmed.v1', \
                    'orders', 'acme', '' FROM gen_random_uuid() AS id",
        )
        .await
        .unwrap();
    wait_for(&topics, streams::ORDERS, 1).await;
    owner.batch_execute("SELECT pg_advisory_unlock(42)").await.unwrap();
    writer.await.unwrap();
    wait_for(&topics, streams::ORDERS, 2).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published.contains_key(&stopped.uuid()), "{published:?}");
}

/// The rows of a transaction that was rolled back never come. Their gap stays for as long as an earlier transaction is open, which
/// may hold them, and ends with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_gap_that_was_rolled_back_ends_with_the_transactions_that_were_open_beside_it() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay = relay(&database, &topics, settings());
    let patient = patient(&database);
    let [mut open, mut undone] = [patient.begin().await.unwrap(), patient.begin().await.unwrap()];
    write(&mut open, 1, &confirmed(OrderId::generate())).await;
    write(&mut undone, 1, &confirmed(OrderId::generate())).await;
    undone.rollback().await.unwrap();
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    let gaps_are = async |gaps: &str| {
        eventually(gaps, async || (progress(&database).await.gaps == gaps).then_some(())).await;
    };
    gaps_are("{[1,3)}").await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 2).await; // it has looked again
    gaps_are("{[1,3)}").await;
    open.commit().await.unwrap();
    gaps_are("{}").await;
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
}

/// The entries of indexes that the relay reads for each row of a backlog that takes several reads: one, which finds the row. The plans
/// are made while the table is empty, and kept.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_a_row_does_not_depend_on_the_backlog() {
    const ROWS: i64 = 160_000;
    for is_analysed in [false, true] {
        let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
        let publisher = counted(&database);
        let start = || relay(&publisher, &topics, RelaySettings { page: 1_000, ..settings() });
        let early = start();
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
        wait_for(&topics, streams::ORDERS, 1).await;
        early.stop().await;
        without_autovacuum(&database).await;
        fill(&database, ROWS, "clock_timestamp()").await;
        if is_analysed {
            database.owner().await.batch_execute("ANALYZE outbox_event").await.unwrap();
        }
        let running = start();
        wait_for(&topics, streams::ORDERS, usize::try_from(ROWS).unwrap() + 1).await;
        running.stop().await;
        drop(publisher);
        let scanned_by_analyze = if is_analysed { ROWS + 1 } else { 0 };
        assert_each_row_was_read(&database, ROWS, 1, scanned_by_analyze).await;
    }
}
