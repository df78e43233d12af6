//! Daily partitions: a role without the right to create tables creates them, and a missing one stops no command.

use contracts::{OrderId, streams};
use database::Database;
use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use outbox::{RelaySettings, make_partitions};
use testkit::{TestDatabase, TestTopics, eventually};
use tokio_util::sync::CancellationToken;

use crate::common::{
    append_one, assert_each_row_was_read, confirmed, counted, fill, relay, rows, settings, wait_for,
    without_autovacuum,
};

/// Today and the seven days after it.
const DAYS: i32 = 8;

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Returns the partition of each row, ordered by id.
async fn partitions_of_rows(database: &Database) -> Vec<String> {
    let mut connection = database.connection().await.unwrap();
    let names: Vec<Name> =
        diesel::sql_query("SELECT tableoid::regclass::text AS name FROM outbox_event ORDER BY id")
            .get_results(&mut connection)
            .await
            .unwrap();
    names.into_iter().map(|row| row.name).collect()
}

/// Returns the name of the partition of a day, counted from today by the database's clock.
async fn day(database: &Database, from_today: i32) -> String {
    let mut connection = database.connection().await.unwrap();
    let found: Name = diesel::sql_query(
        "SELECT 'outbox_event_' || to_char((clock_timestamp() AT TIME ZONE 'UTC')::date + $1, 'YYYYMMDD') AS name",
    )
    .bind::<diesel::sql_types::Integer, _>(from_today)
    .get_result(&mut connection)
    .await
    .unwrap();
    found.name
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_makes_its_days_without_a_right_to_create_tables() {
    let database = TestDatabase::plain().await;
    let mut service = database.connection().await.unwrap();
    let refused = service.batch_execute("CREATE TABLE mine ()").await.unwrap_err().to_string();
    assert!(refused.contains("permission denied"), "{refused}");

    assert_eq!(make_partitions(&database, &CancellationToken::new()).await.unwrap(), DAYS);
    assert_eq!(make_partitions(&database, &CancellationToken::new()).await.unwrap(), 0, "they are there");
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    assert_eq!(partitions_of_rows(&database).await, [day(&database, 0).await]);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_make_days_at_once_make_each_day_once() {
    let database = TestDatabase::plain().await;
    let stop = CancellationToken::new();
    let made = futures_util::future::join_all((0..8).map(|_| make_partitions(&database, &stop))).await;
    assert_eq!(made.into_iter().map(Result::unwrap).sum::<i32>(), DAYS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_outside_all_days_is_in_the_default_partition() {
    let database = TestDatabase::plain().await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    assert_eq!(partitions_of_rows(&database).await, ["outbox_event_default"]);
}

/// An event was appended before the job first ran, so today's partition can no longer be created.
#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_began_in_the_default_partition_does_not_keep_later_days_from_being_made() {
    let database = TestDatabase::plain().await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    assert_eq!(make_partitions(&database, &CancellationToken::new()).await.unwrap(), DAYS - 1);
    append_one(&database, 2, &confirmed(OrderId::generate())).await;
    assert_eq!(partitions_of_rows(&database).await, ["outbox_event_default", "outbox_event_default"]);
    let mut owner = database.owner().await;
    let tomorrow = day(&database, 1).await;
    owner.batch_execute(&format!("SELECT FROM {tomorrow}")).await.unwrap();
    assert_eq!(rows(&database).await, 2);
}

/// Rows of a day without a partition are in the default partition, which a new partition must lock.
#[tokio::test(flavor = "multi_thread")]
async fn writers_do_not_wait_behind_a_new_partition() {
    const WRITE: &str = "BEGIN; LOCK TABLE outbox_event_default IN ROW EXCLUSIVE MODE";
    let database = TestDatabase::plain().await;
    let (mut open, mut other) = (database.owner().await, database.owner().await);
    open.batch_execute(WRITE).await.unwrap();
    let making = database.spawn({
        let database = database.second_instance();
        async move { make_partitions(&database, &CancellationToken::new()).await }
    });
    other.batch_execute("SET lock_timeout = '500ms'").await.unwrap();
    for _ in 0..3 {
        eventually("a new partition that waits for the open writer", async || {
            let waiting = "SELECT count(*)::text AS name FROM pg_locks \
                            WHERE NOT granted AND relation = 'outbox_event_default'::regclass \
                              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
            let mut service = database.connection().await.unwrap();
            let found: Name = diesel::sql_query(waiting).get_result(&mut service).await.unwrap();
            (found.name == "1").then_some(())
        })
        .await;
        other.batch_execute(WRITE).await.unwrap();
        other.batch_execute("COMMIT").await.unwrap();
    }
    open.batch_execute("COMMIT").await.unwrap();
    assert_eq!(making.await.unwrap().unwrap(), DAYS);
}

/// The sessions of a running service keep their plans over midnight. The transaction that was open has no row, but the relay looks
/// for its rows once it has ended.
#[tokio::test(flavor = "multi_thread")]
async fn plans_that_were_made_while_tomorrows_partition_was_empty_read_each_row_once_when_it_is_full() {
    const ROWS: i64 = 20_000;
    for is_analysed in [false, true] {
        let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
        make_partitions(&database, &CancellationToken::new()).await.unwrap();
        without_autovacuum(&database).await;
        let mut open = database.owner().await;
        if is_analysed {
            open.batch_execute("VACUUM ANALYZE outbox_event").await.unwrap();
        }
        open.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
        let publisher = counted(&database);
        let start = || relay(&publisher, &topics, RelaySettings { page: 1_000, ..settings() });
        let today = start();
        for sequence in 1..=5 {
            append_one(&database, sequence, &confirmed(OrderId::generate())).await;
            wait_for(&topics, streams::ORDERS, usize::try_from(sequence).unwrap()).await;
        }
        today.stop().await;

        fill(&database, ROWS, "clock_timestamp() + interval '1 day'").await;
        let tomorrow = start();
        wait_for(&topics, streams::ORDERS, usize::try_from(ROWS).unwrap() + 5).await;
        open.batch_execute("COMMIT").await.unwrap();
        append_one(&database, 6, &confirmed(OrderId::generate())).await;
        wait_for(&topics, streams::ORDERS, usize::try_from(ROWS).unwrap() + 6).await;
        tomorrow.stop().await;
        drop(publisher);
        assert_each_row_was_read(&database, ROWS, 1, 0).await;
    }
}
