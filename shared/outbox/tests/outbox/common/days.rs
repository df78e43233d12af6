//! Days of the past, for the tests of retention.

use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use outbox::{RetentionCounts, RetentionSettings, detach_days};
use testkit::{Background, TestDatabase, TestTopics, eventually};
use tokio_util::sync::CancellationToken;

use super::{count, relay, settings};

/// The first day that the tests use.
pub(crate) const FIRST: &str = "20260101";
/// A moment of that day.
pub(crate) const NOON: &str = "'2026-01-01T12:00:00Z'::timestamptz";

/// Creates the partitions of so many days of January 2026.
pub(crate) async fn make_old_days(database: &TestDatabase, days: i32) {
    for day in 1..=days {
        let make = format!(
            "CREATE TABLE outbox_event_202601{day:02} PARTITION OF outbox_event \
             FOR VALUES FROM ('2026-01-01T00:00:00Z'::timestamptz + interval '1 day' * ({day} - 1)) \
                          TO ('2026-01-01T00:00:00Z'::timestamptz + interval '1 day' * {day})"
        );
        database.owner().await.batch_execute(&make).await.unwrap();
    }
}

/// Returns whether the partition of a day exists.
pub(crate) async fn exists(database: &TestDatabase, day: &str) -> bool {
    is_table(database, &format!("outbox_event_{day}")).await
}

/// Returns whether a day is kept as a table of its own.
pub(crate) async fn is_detached(database: &TestDatabase, day: &str) -> bool {
    is_table(database, &format!("outbox_detached_{day}")).await
}

async fn is_table(database: &TestDatabase, name: &str) -> bool {
    let found = format!("SELECT count(*) AS count FROM pg_class WHERE relname = '{name}'");
    count(database, &found).await == 1
}

/// One pass with the default settings.
pub(crate) async fn pass(database: &TestDatabase) -> RetentionCounts {
    pass_with(database, &RetentionSettings::default()).await.unwrap()
}

pub(crate) async fn pass_with(
    database: &TestDatabase,
    settings: &RetentionSettings,
) -> database::Result<RetentionCounts> {
    until_no_pass_runs(database).await;
    detach_days(database, settings, &CancellationToken::new()).await
}

/// Waits until the server has ended the session of the last pass. The lock of retention lasts until then, and a second pass
/// would leave the work to the first.
async fn until_no_pass_runs(database: &TestDatabase) {
    eventually("the end of the last pass", async || {
        let lock = "SELECT count(*) AS count FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (count(database, lock).await == 0).then_some(())
    })
    .await;
}

/// Starts a relay, and waits until its cursor has passed all rows.
pub(crate) async fn publish_all(database: &TestDatabase, topics: &TestTopics) -> Background {
    let relay = relay(database, topics, settings());
    eventually("a cursor that has passed all rows", async || {
        let waiting = "SELECT (SELECT count(*) FROM outbox_event AS event, outbox_cursor AS relay \
                                WHERE NOT outbox_is_published(relay, event.xid, event.id)) AS count";
        (count(database, waiting).await == 0).then_some(())
    })
    .await;
    relay
}

/// A session that reads rows of the outbox, as an operator's command does. The rows can be dropped once it is dropped.
pub(crate) async fn reader(database: &TestDatabase) -> AsyncPgConnection {
    let mut reader = database.owner().await;
    diesel::sql_query("SELECT pg_advisory_lock_shared(hashtextextended('outbox_rows', 0))")
        .execute(&mut reader)
        .await
        .unwrap();
    reader
}

/// Waits until the server has ended the session of a [`reader`].
pub(crate) async fn until_nobody_reads(database: &TestDatabase) {
    eventually("the end of the reader", async || {
        let locks = "SELECT count(*) AS count FROM pg_locks WHERE locktype = 'advisory' \
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (count(database, locks).await == 0).then_some(())
    })
    .await;
}
