//! Ninety days in half a minute: the clock of the database moves, every job runs each day, and no table keeps more than its time.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use outbox::RetentionSettings;
use testkit::{Postgres, TestDatabase};

use super::*;
use crate::config::LogRetention;

const DAYS: usize = 90;
const DAY: Duration = Duration::from_hours(24);
/// The rows of each table on each day; `a_day.sql` inserts them.
const ROWS: u64 = 50;

/// A table, and of how many days it has the rows: at least so many, so that nothing is deleted early, and at most so many.
///
/// Rows are made in the course of a day, and a job deletes them at its end. Tombstones go in partitions as long as their time.
const KEPT: [(&str, u64, u64); 7] = [
    ("idempotency_record", 1, 2),
    ("idempotency_snapshot", 1, 2),
    ("idempotency_tombstone", 29, 60),
    ("idempotency_operation", 30, 31),
    ("outbox_event", 7, 9),
    ("outbox_event_default", 0, 0),
    ("inbox_message", 35, 36),
];

#[derive(QueryableByName)]
struct RowCount {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

/// Says that the relay has published every event.
const PUBLISHED: &str = "UPDATE outbox_cursor SET position = (SELECT coalesce(max(id), 0) FROM outbox_event)";

async fn row_counts(owner: &mut AsyncPgConnection) -> BTreeMap<String, u64> {
    let each = KEPT.map(|(name, ..)| format!("SELECT '{name}' AS name, count(*) AS rows FROM {name}"));
    let counts: Vec<RowCount> = sql_query(each.join(" UNION ALL ")).load(owner).await.unwrap();
    counts.into_iter().map(|count| (count.name, count.rows.unsigned_abs())).collect()
}

/// Runs each job that is due, as an instance does.
async fn keep_house(database: &Database, jobs: &[HousekeepingJob]) {
    for job in jobs {
        let lease = JobLease { database, name: job.name, holder: "time lapse" };
        job.take_turn(&lease, &CancellationToken::new()).await.unwrap();
    }
    for status in job_status(&database.connection().await.unwrap()).await.unwrap() {
        assert_eq!(status.last_error, None, "{}", status.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ninety_days_leave_in_each_table_the_rows_of_its_retention_and_no_more() {
    let Some((server, mut clock)) = Postgres::with_clock().await else { return };
    let database = TestDatabase::plain_on(&server.url()).await;
    let mut owner = database.owner().await;
    owner.batch_execute(&format!("SET test.rows = {ROWS}")).await.unwrap();
    let outbox = RetentionSettings { keep_days: 7, keep_detached_days: 14 };
    let jobs = schedule(&LogRetention { outbox, inbox: TimeDelta::days(35) });
    let mut counts = Vec::new();
    for _ in 0..DAYS {
        keep_house(&database, &jobs).await;
        clock.advance(DAY);
        owner.batch_execute(include_str!("a_day.sql")).await.unwrap();
        owner.batch_execute(PUBLISHED).await.unwrap();
        keep_house(&database, &jobs).await;
        counts.push(row_counts(&mut owner).await);
    }
    for (table, least, most) in KEPT {
        let per_day: Vec<u64> = counts.iter().map(|count| count.get(table).copied().unwrap()).collect();
        // From here on, every table has lived through its time twice.
        for (day, &rows) in per_day.iter().enumerate().skip(72) {
            let expected = least * ROWS..=most * ROWS;
            assert!(
                expected.contains(&rows),
                "{table}, day {day}: {rows} rows, not {expected:?}: {per_day:?}"
            );
        }
    }
    let detached =
        "SELECT 'detached' AS name, count(*) AS rows FROM pg_class WHERE relname LIKE 'outbox_detached_%'";
    let detached: RowCount = sql_query(detached).get_result(&mut owner).await.unwrap();
    assert!((14..=15).contains(&detached.rows), "{} tables of days that left the outbox", detached.rows);
    let growing = "SELECT 'inbox_sequence' AS name, count(*) AS rows FROM inbox_sequence";
    let growing: RowCount = sql_query(growing).get_result(&mut owner).await.unwrap();
    assert_eq!(
        growing.rows.unsigned_abs(),
        ROWS * u64::try_from(DAYS).unwrap(),
        "docs/performance.md names it as growing"
    );
    drop(owner);
}
