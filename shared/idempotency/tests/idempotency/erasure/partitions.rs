//! The partitions of the tombstones: few, without gaps, and dropped whole.

use diesel::sql_types::{Integer, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use idempotency::{Outcome, Retention};
use testkit::{TestDatabase, eventually};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{change, count, erase, expire, rows};
use crate::shop::{self, KEY, effects, order, request, send};

#[derive(QueryableByName, Debug, PartialEq)]
struct Partition {
    #[diesel(sql_type = Text)]
    name: String,
    /// The days from today to its end.
    #[diesel(sql_type = Integer)]
    days: i32,
}

async fn partitions(database: &TestDatabase) -> Vec<i32> {
    let query = "SELECT name, (free_from AT TIME ZONE 'UTC')::date - (clock_timestamp() AT TIME ZONE 'UTC')::date AS days
                   FROM idempotency_tombstone_partitions() ORDER BY free_from";
    let found: Vec<Partition> = sql_query(query).load(&mut database.owner().await).await.unwrap();
    found.into_iter().map(|partition| partition.days).collect()
}

async fn make(database: &TestDatabase, days: i32) {
    let make =
        format!("SELECT idempotency_make_tombstone_partitions(clock_timestamp() + interval '{days} days')");
    database.connection().await.unwrap().batch_execute(&make).await.unwrap();
}

/// The service's role makes them, and it has no right to create a table.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_follow_each_other_without_a_gap_whatever_the_retention() {
    let database = shop::open().await;
    make(&database, 29).await;
    make(&database, 29).await;
    assert_eq!(partitions(&database).await, [59], "30 days beyond the last key");
    make(&database, 59).await;
    assert_eq!(partitions(&database).await, [59, 119]);
    // A shorter retention finds the first partition, a longer one continues after the last.
    make(&database, 3).await;
    make(&database, 364).await;
    assert_eq!(partitions(&database).await, [59, 119, 484]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_dropped_when_all_its_keys_are_free_again() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    expire(&database).await;
    assert_eq!(erase(&database).await, 1);
    let drop_all = async || idempotency::drop_tombstones(&database, &CancellationToken::new()).await.unwrap();
    assert_eq!((drop_all().await, partitions(&database).await.len()), (0, 1));
    // A partition that ended today, with a key that was free before.
    change(
        &database,
        "CREATE TABLE old (LIKE idempotency_tombstone INCLUDING ALL);
         DO $$ DECLARE
             today timestamptz := (clock_timestamp() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC';
             last text := (SELECT name FROM idempotency_tombstone_partitions());
             ended text := 'idempotency_tombstone_' || to_char(today AT TIME ZONE 'UTC', 'YYYYMMDD');
             until timestamptz := (SELECT free_from FROM idempotency_tombstone_partitions());
         BEGIN
             EXECUTE format('ALTER TABLE idempotency_tombstone DETACH PARTITION %I', last);
             EXECUTE format('ALTER TABLE old RENAME TO %I', ended);
             EXECUTE format('ALTER TABLE idempotency_tombstone ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', ended, today);
             EXECUTE format('ALTER TABLE idempotency_tombstone ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', last, today, until);
         END $$;
         INSERT INTO idempotency_tombstone (key_digest, operation_id, created_at, expires_at, tombstone_until, status, method, route)
         SELECT key_digest, operation_id, created_at, expires_at, clock_timestamp() - interval '2 days', status, method, route
           FROM idempotency_tombstone",
    )
    .await;
    assert_eq!((partitions(&database).await[0], rows(&database).await), (0, (0, 0, 2)));
    assert_eq!((drop_all().await, drop_all().await, rows(&database).await), (1, 0, (0, 0, 1)));
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    assert_eq!(effects(&database).await, 1);
}

const TOMBSTONES: i64 = 3_000;
const LOOKUPS: i64 = 20;

/// The plan was made while the partitions were empty, and nothing has analysed them since.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_execution_reads_no_tombstone_of_another_key() {
    let database = shop::open().await;
    for days in [29, 60] {
        make(&database, days).await;
    }
    let quiet = "DO $$ DECLARE partition text; BEGIN
                     FOR partition IN SELECT name FROM idempotency_tombstone_partitions() LOOP
                         EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', partition);
                     END LOOP;
                 END $$;";
    change(&database, quiet).await;
    change(&database, "VACUUM ANALYZE idempotency_tombstone").await;
    let instance = shop::instance(&database, |settings| database::Settings { pool_size: 1, ..settings });
    let place = async || {
        let request = request(&Uuid::new_v4().to_string(), "a");
        let placed = idempotency::execute(&instance, Retention::default(), request, order).await.unwrap();
        assert!(matches!(placed, Outcome::Executed(_)));
    };
    place().await;
    change(
        &database,
        &format!(
            "INSERT INTO idempotency_tombstone (key_digest, operation_id, created_at, expires_at, tombstone_until, status, method, route)
             SELECT gen_random_uuid(), gen_random_uuid(), now(), now(), now() + (1 + n % 70) * interval '1 day', 201, 'POST', '/v1/orders'
               FROM generate_series(1, {TOMBSTONES}) AS n"
        ),
    )
    .await;
    for _ in 0..LOOKUPS {
        place().await;
    }
    drop(instance); // the end of a session reports its counters
    let counters = "SELECT coalesce(sum(idx_scan), 0)::bigint AS number FROM pg_stat_user_tables
                     WHERE relname LIKE 'idempotency_tombstone_%'";
    let partitions = i64::try_from(partitions(&database).await.len()).unwrap();
    assert_eq!(partitions, 2);
    eventually("the counters of the session", async || {
        (count(&database, counters).await >= partitions * LOOKUPS).then_some(())
    })
    .await;
    let read =
        "SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint AS number FROM pg_stat_user_tables
                 WHERE relname LIKE 'idempotency_tombstone_%'";
    assert_eq!(count(&database, read).await, 0, "rows of other keys");
}
