//! A day that has left the outbox is kept as a table, and can be copied by the statement of the runbook.

use contracts::{OrderId, streams};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use outbox::{RetentionCounts, RetentionSettings};
use testkit::{TestDatabase, TestTopics};
use uuid::Uuid;

use crate::common::days::{FIRST, NOON, exists, is_detached, make_old_days, pass, pass_with, publish_all};
use crate::common::{append_one, confirmed, fill, rows, wait_for};

const RUNBOOK: &str = include_str!("../../../../docs/repairs.md");

const KEPT: RetentionSettings = RetentionSettings { keep_days: 7, keep_detached_days: 30 };

/// One pass that keeps detached days.
async fn pass_that_keeps(database: &TestDatabase) -> RetentionCounts {
    pass_with(database, &KEPT).await.unwrap()
}

fn dropped(tables: u64) -> RetentionCounts {
    RetentionCounts { tables_dropped: tables, ..RetentionCounts::default() }
}

async fn change(database: &TestDatabase, sql: &str) {
    database.owner().await.batch_execute(sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_day_is_kept_as_a_table_until_its_time_is_over() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 2).await;
    fill(&database, 3, NOON).await;
    let relay = publish_all(&database, &topics).await;
    let two = RetentionCounts { days_detached: 2, ..RetentionCounts::default() };
    assert_eq!(pass_that_keeps(&database).await, two);
    assert!(!exists(&database, FIRST).await && is_detached(&database, FIRST).await);
    assert_eq!(rows(&database).await, 0);
    assert_eq!(database.count("SELECT count(*) FROM outbox_detached_20260101").await, 3);
    assert_eq!(database.count("SELECT sum(rows) FROM outbox_dropped_day").await, 3);
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 4).await;
    relay.stop().await;

    assert_eq!(pass_that_keeps(&database).await, dropped(0), "its time is not over");
    change(&database, "UPDATE outbox_dropped_day SET dropped_at = dropped_at - interval '29 days'").await;
    assert_eq!(pass_that_keeps(&database).await, dropped(0));
    let over =
        "UPDATE outbox_dropped_day SET dropped_at = dropped_at - interval '1 day' WHERE day = '2026-01-01'";
    change(&database, over).await;
    assert_eq!(pass_that_keeps(&database).await, dropped(1));
    assert!(!is_detached(&database, FIRST).await && is_detached(&database, "20260102").await);
    assert_eq!(pass(&database).await, dropped(1), "nothing is kept from now on");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_default_partition_are_kept_in_the_table_of_their_day() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    fill(&database, 1_500, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    let moved = |rows| RetentionCounts { rows_detached: rows, ..RetentionCounts::default() };
    assert_eq!(pass_that_keeps(&database).await, moved(1_500));
    fill(&database, 2, NOON).await;
    assert_eq!(pass_that_keeps(&database).await, moved(0), "they are not published");
    publish_all(&database, &topics).await.stop().await;
    assert_eq!(pass_that_keeps(&database).await, moved(2));
    let kept = "SELECT count(DISTINCT id) FROM outbox_detached_20260101";
    assert_eq!((rows(&database).await, database.count(kept).await), (0, 1_502));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_somebody_reads_is_dropped_later_and_delays_no_other() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 2).await;
    publish_all(&database, &topics).await.stop().await;
    pass_that_keeps(&database).await;
    let mut copy = database.owner().await;
    copy.batch_execute("BEGIN; SELECT FROM outbox_detached_20260101").await.unwrap();
    assert_eq!(pass(&database).await, dropped(1));
    copy.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pass(&database).await, dropped(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_day_is_copied_by_the_statement_of_the_runbook() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    make_old_days(&database, 1).await;
    fill(&database, 100, NOON).await;
    publish_all(&database, &topics).await.stop().await;
    pass_that_keeps(&database).await;

    let copy = RUNBOOK.lines().find(|line| line.starts_with("COPY outbox_detached_")).unwrap();
    let file = format!("{}/{}.csv.gz", std::env::temp_dir().display(), Uuid::new_v4().simple());
    let copy = copy.replace("20261112", FIRST).replace("/backup/orders-outbox-20260101.csv.gz", &file);
    assert!(copy.contains(&file), "{copy}");
    // The server runs the program, so the file is the server's.
    let mut superuser = AsyncPgConnection::establish(&database.superuser_url()).await.unwrap();
    superuser.batch_execute(&copy).await.unwrap();
    let read_back = format!(
        "CREATE TABLE back (LIKE outbox_event);
         COPY back FROM PROGRAM 'gzip -dc {file}' (FORMAT csv, HEADER);
         COPY (SELECT) TO PROGRAM 'rm {file}';
         GRANT SELECT ON back TO PUBLIC"
    );
    superuser.batch_execute(&read_back).await.unwrap();
    let differing = "SELECT count(*) FROM (TABLE back EXCEPT TABLE outbox_detached_20260101) AS differing";
    assert_eq!(database.count(differing).await, 0);
    assert_eq!(database.count("SELECT count(*) FROM back").await, 100);
}
