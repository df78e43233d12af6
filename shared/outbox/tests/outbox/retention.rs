//! Retention drops the days that are published and old, and no other row.

use contracts::{OrderId, streams};
use database::Database;
use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use outbox::{RetentionCounts, RetentionSettings, detach_days, make_partitions};
use serde_json::json;
use testkit::{TestDatabase, TestTopics, eventually};
use tokio_util::sync::CancellationToken;

use crate::common::days::{
    FIRST, NOON, exists, make_old_days, pass, pass_with, publish_all, reader, until_nobody_reads,
};
use crate::common::{
    append_one, confirmed, context, count, fill, first_occurrences, history, json_output, progress, relay,
    rows, settings, text_output, wait_for,
};

fn detached(days: u64) -> RetentionCounts {
    RetentionCounts { days_detached: days, ..RetentionCounts::default() }
}

fn kept(days: u64) -> RetentionCounts {
    RetentionCounts { days_kept: days, ..RetentionCounts::default() }
}

/// Panics if the histories of aggregates have a gap that no dropped day explains.
async fn gaps(database: &Database) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Violation {
        #[diesel(sql_type = Text)]
        violation: String,
    }
    let audit = include_str!("../../../../audits/reliability/a_history_has_no_gap.sql");
    let audit = diesel::sql_query(audit.trim_end().trim_end_matches(';'));
    let found: Vec<Violation> = audit.load(&mut database.connection().await.unwrap()).await.unwrap();
    found.into_iter().map(|row| row.violation).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_day_is_dropped_and_a_running_relay_goes_on() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 2).await;
    make_partitions(&database, &CancellationToken::new()).await.unwrap();
    let order = OrderId::generate();
    for sequence in 1..=3 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    // The first two events of the order were written on the first two days.
    let age =
        format!("UPDATE outbox_event SET created_at = {NOON} + (id - 1) * interval '1 day' WHERE id < 3");
    database.owner().await.batch_execute(&age).await.unwrap();
    let relay = publish_all(&database, &topics).await;
    let before = progress(&database).await;

    let patient = RetentionSettings { keep_days: 36_500, ..RetentionSettings::default() };
    assert_eq!(pass_with(&database, &patient).await.unwrap(), RetentionCounts::default());
    assert_eq!(pass(&database).await, detached(2));
    assert!(!exists(&database, FIRST).await);
    assert_eq!(rows(&database).await, 1);
    assert_eq!(gaps(&database).await, Vec::<String>::new(), "dropped days are no gap");
    assert_eq!(pass(&database).await, RetentionCounts::default());

    append_one(&database, 4, &confirmed(order)).await;
    wait_for(&topics, streams::ORDERS, 4).await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published[&order.uuid()], history(4));
    assert_eq!(progress(&database).await.epoch, before.epoch, "the relay is still in its term");
    relay.stop().await;
    let lost = "DELETE FROM outbox_event WHERE sequence = 3";
    database.owner().await.batch_execute(lost).await.unwrap();
    append_one(&database, 6, &confirmed(order)).await;
    assert_eq!(gaps(&database).await.len(), 1, "number 5 is missing, and no day between was dropped");

    let context = context(&database, &topics);
    let expected = json!({ "days": 2, "rows": 2, "last_day": "2026-01-02", "last_id": 2 });
    assert_eq!(json_output(&context, &["status"]).await["dropped"], expected);
    let words = ["republish", "--since", "2026-01-01T00:00:00Z", "--by", "ada", "--reason", "x", "--dry-run"];
    assert_eq!(json_output(&context, &words).await["dropped"], expected);
    let text = text_output(&context, &words).await;
    assert!(text.contains("dropped.days 2 dropped.rows 2 dropped.last_day 2026-01-02"), "{text}");
}

/// The row of an open transaction has an id below those that are published.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_committed_late_keeps_its_day_until_it_is_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 1).await;
    let mut open = database.owner().await;
    let late = format!(
        "BEGIN; INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, \
         source, tenant_id, payload, created_at) \
         SELECT id, 'orders.events', id, 'order', id, 1, 'orders.OrderConfirmed.v1', 'orders', 'acme', '', {NOON} \
           FROM gen_random_uuid() AS id"
    );
    open.batch_execute(&late).await.unwrap();
    fill(&database, 1, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    // So that the commit certainly falls between the lock's request and its grant.
    let patient = "ALTER FUNCTION outbox_detach_day SET lock_timeout = '1min'";
    database.owner().await.batch_execute(patient).await.unwrap();

    let passing = database.spawn({
        let database = database.second_instance();
        async move {
            detach_days(&database, &RetentionSettings::default(), &CancellationToken::new()).await.unwrap()
        }
    });
    eventually("a pass that waits for the writer", async || {
        let waiting = format!(
            "SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND relation = 'outbox_event_{FIRST}'::regclass \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        );
        (count(&database, &waiting).await == 1).then_some(())
    })
    .await;
    open.batch_execute("COMMIT").await.unwrap();
    assert_eq!(passing.await.unwrap(), kept(1));
    assert_eq!(pass(&database).await, kept(1), "the row is committed and not published");
    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 2).await;
    relay.stop().await;
    assert_eq!(pass(&database).await, detached(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_row_keeps_its_day_until_it_is_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 2).await;
    fill(&database, 2, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let mut owner = database.owner().await;
    let blocked = "INSERT INTO outbox_blocked (id, aggregate_id, error) SELECT 1, aggregate_id, 'x' FROM outbox_event WHERE id = 1";
    owner.batch_execute(blocked).await.unwrap();
    // The day after it has no blocked row.
    assert_eq!(pass(&database).await, RetentionCounts { days_detached: 1, ..kept(1) });
    owner.batch_execute("UPDATE outbox_blocked SET released_at = clock_timestamp()").await.unwrap();
    assert_eq!(pass(&database).await, kept(1), "it is released and not published");
    owner.batch_execute("DELETE FROM outbox_blocked").await.unwrap();
    assert_eq!(pass(&database).await, detached(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_in_a_gap_keeps_its_day() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 1).await;
    fill(&database, 3, NOON).await;
    assert_eq!(pass(&database).await, kept(1), "no relay has ever run");
    publish_all(&database, &topics).await.stop().await;
    let mut owner = database.owner().await;
    owner.batch_execute("UPDATE outbox_cursor SET gaps = '{[2,3)}'").await.unwrap();
    assert_eq!(pass(&database).await, kept(1), "the row 2 is not published");
    owner.batch_execute("UPDATE outbox_cursor SET gaps = '{[7,9)}'").await.unwrap();
    assert_eq!(pass(&database).await, detached(1), "no row of the day is in the gap");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_to_be_published_again_keeps_its_day() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 1).await;
    fill(&database, 2, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let words = ["republish", "--since", "2026-01-01T00:00:00Z", "--by", "ada", "--reason", "x"];
    assert_eq!(json_output(&context(&database, &topics), &words).await["messages"], 2);
    assert_eq!(pass(&database).await, kept(1));
    publish_all(&database, &topics).await.stop().await;
    assert_eq!(pass(&database).await, detached(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_operator_reads_no_day_is_dropped() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 1).await;
    fill(&database, 2, NOON).await;
    fill(&database, 1, "'2026-01-05T12:00:00Z'").await; // in the DEFAULT partition
    publish_all(&database, &topics).await.stop().await;
    let reading = reader(&database).await;
    assert_eq!(pass(&database).await, kept(1));
    assert_eq!(rows(&database).await, 3);
    drop(reading);
    until_nobody_reads(&database).await;
    assert_eq!(pass(&database).await, RetentionCounts { rows_detached: 1, ..detached(1) });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_republish_waits_for_a_drop() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    publish_all(&database, &topics).await.stop().await;
    let mut dropping = database.owner().await;
    dropping
        .batch_execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('outbox_rows', 0))")
        .await
        .unwrap();
    let republished = database.spawn({
        let context = context(&database, &topics);
        async move {
            let words =
                ["republish", "--since", "2026-01-01T00:00:00Z", "--by", "ada", "--reason", "x", "--dry-run"];
            json_output(&context, &words).await["messages"].take()
        }
    });
    eventually("a republish that waits", async || {
        let waiting = "SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND locktype = 'advisory' \
                          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (count(&database, waiting).await == 1).then_some(())
    })
    .await;
    dropping.batch_execute("COMMIT").await.unwrap();
    assert_eq!(republished.await.unwrap(), json!(1));
}

/// Two batches and a half are old. One row is blocked, and one is not published.
#[tokio::test(flavor = "multi_thread")]
async fn old_rows_of_the_default_partition_are_deleted_unless_they_are_blocked_or_unpublished() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    fill(&database, 2_500, NOON).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    publish_all(&database, &topics).await.stop().await;
    fill(&database, 1, NOON).await;
    let blocked = "INSERT INTO outbox_blocked (id, aggregate_id, error) SELECT 7, aggregate_id, 'x' FROM outbox_event WHERE id = 7";
    database.owner().await.batch_execute(blocked).await.unwrap();
    let counts = pass(&database).await;
    assert_eq!(counts, RetentionCounts { rows_detached: 2_499, ..RetentionCounts::default() });
    assert_eq!(rows(&database).await, 3, "the blocked one, the unpublished one, and the young one");
    let recorded = "SELECT rows AS count FROM outbox_dropped_day WHERE day = '2026-01-01'";
    assert_eq!(count(&database, recorded).await, 2_499);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_drop_days_at_once_drop_each_day_once() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 5).await;
    publish_all(&database, &topics).await.stop().await;
    let passes = futures_util::future::join_all((0..6).map(|_| pass(&database))).await;
    assert_eq!(passes.iter().map(|counts| counts.days_detached).sum::<u64>(), 5);
    assert_eq!(count(&database, "SELECT count(*) AS count FROM outbox_dropped_day").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_present_day_is_never_dropped_and_the_service_cannot_drop_a_day_itself() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_partitions(&database, &CancellationToken::new()).await.unwrap();
    make_old_days(&database, 1).await;
    publish_all(&database, &topics).await.stop().await;
    let now = RetentionSettings { keep_days: 0, ..RetentionSettings::default() };
    assert_eq!(pass_with(&database, &now).await.unwrap(), RetentionCounts::default());
    let mut service = database.connection().await.unwrap();
    let refused = service.batch_execute("DROP TABLE outbox_event_20260101").await.unwrap_err().to_string();
    assert!(refused.contains("must be owner"), "{refused}");

    let stopped = CancellationToken::new();
    stopped.cancel();
    let counts = detach_days(&database, &RetentionSettings::default(), &stopped).await.unwrap();
    assert_eq!(counts, RetentionCounts::default(), "a pass that is stopped ends");
    assert!(exists(&database, FIRST).await);
}
