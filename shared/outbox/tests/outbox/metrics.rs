//! The metrics of the outbox: each is moved by an event that must move it, and a reading costs the same on a long backlog.

use contracts::{OrderId, streams};
use database::Database;
use diesel_async::SimpleAsyncConnection;
use metrics::Readings;
use outbox::OutboxMetrics;
use testkit::{Metrics, TestDatabase, TestTopics, eventually};

use crate::common::{
    append_one, assert_each_row_was_read, confirmed, counted, fill, patient, relay, reserved, settings,
    wait_for, without_autovacuum, write,
};

/// The gauges that a scrape reads.
async fn read(database: &Database) -> Metrics {
    let (connection, mut readings) = (database.connection().await.unwrap(), Readings::default());
    outbox::read_metrics(&connection, &mut readings).await.unwrap();
    Metrics::read(&readings)
}

/// Appended, published and set aside.
fn events(database: &Database) -> [i64; 3] {
    let counted = Metrics::counted::<OutboxMetrics>(database);
    ["appended", "published", "set_aside"].map(|what| counted.count(&format!("outbox_{what}_events_total")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_counted_when_it_is_committed_and_again_when_it_is_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let mut undone = database.begin().await.unwrap();
    write(&mut undone, 1, &confirmed(OrderId::generate())).await;
    undone.rollback().await.unwrap();
    assert_eq!(events(&database), [0, 0, 0], "it was rolled back");
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    append_one(&database, 1, &reserved(OrderId::generate())).await;
    assert_eq!(events(&database), [2, 0, 0]);
    let waiting = read(&database).await;
    assert_eq!(waiting.count("outbox_unpublished_events"), 2);
    assert!(waiting.measure("outbox_oldest_unpublished_seconds") > 0.0);

    let relay = relay(&database, &topics, settings());
    eventually("all is published", async || (events(&database) == [2, 2, 0]).then_some(())).await;
    relay.stop().await;
    let published = read(&database).await;
    assert_eq!(published.count("outbox_unpublished_events"), 0);
    assert_eq!(published.count("outbox_oldest_unpublished_seconds"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_a_transaction_that_was_open_at_the_last_look_is_unpublished() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let mut open = patient(&database).begin().await.unwrap();
    write(&mut open, 1, &confirmed(OrderId::generate())).await;
    for sequence in 1..=3 {
        append_one(&database, 1, &reserved(OrderId::generate())).await;
        let running = relay(&database, &topics, settings());
        wait_for(&topics, streams::INVENTORY, sequence).await;
        running.stop().await;
    }
    assert_eq!(read(&database).await.count("outbox_unpublished_events"), 0, "it is not committed");
    open.commit().await.unwrap();
    assert_eq!(read(&database).await.count("outbox_unpublished_events"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_set_aside_is_counted_as_blocked_and_not_as_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let bad = OrderId::generate();
    append_one(&database, 1, &confirmed(bad)).await;
    let change =
        format!("UPDATE outbox_event SET tenant_id = 'not a name' WHERE aggregate_id = '{}'", bad.uuid());
    database.owner().await.batch_execute(&change).await.unwrap();
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    let relay = relay(&database, &topics, settings());
    eventually("a blocked event", async || {
        (read(&database).await.count("outbox_blocked_events") == 1).then_some(())
    })
    .await;
    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    assert_eq!(events(&database), [2, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_relay_holds_the_lease_and_each_term_is_counted() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let standby = database.second_instance();
    let holds = |database: &Database| Metrics::counted::<OutboxMetrics>(database).count("outbox_holds_lease");
    let never = read(&database).await;
    assert_eq!((never.count("outbox_lease_epoch"), never.count("outbox_lease_remaining_seconds")), (0, 0));
    let first = relay(&database, &topics, settings());
    eventually("a lease", async || (holds(&database) == 1).then_some(())).await;
    let second = relay(&standby, &topics, settings());
    let active = read(&database).await;
    assert_eq!(active.count("outbox_lease_epoch"), 1);
    assert!(active.measure("outbox_lease_remaining_seconds") > 0.0);
    assert_eq!(holds(&standby), 0);

    // As another relay does that takes the lease.
    let taken = "UPDATE outbox_lease SET epoch = epoch + 1, owner = 'another', lease_until = clock_timestamp(); \
                 UPDATE outbox_cursor SET epoch = epoch + 1";
    database.owner().await.batch_execute(taken).await.unwrap();
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    eventually("the third term, with one relay", async || {
        let epoch = read(&database).await.count("outbox_lease_epoch");
        (epoch == 3 && holds(&database) + holds(&standby) == 1).then_some(())
    })
    .await;
    first.stop().await;
    second.stop().await;
    assert_eq!((holds(&database), holds(&standby)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_costs_a_fixed_number_of_rows_on_any_backlog() {
    const ROWS: i64 = 40_000;
    let database = TestDatabase::plain().await;
    without_autovacuum(&database).await;
    fill(&database, ROWS, "clock_timestamp()").await;
    let reader = counted(&database);
    assert_eq!(read(&reader).await.count("outbox_unpublished_events"), 40_000);
    drop(reader);
    // The entry of the index for each id of the range.
    assert_each_row_was_read(&database, 2000, 1, 0).await;
}
