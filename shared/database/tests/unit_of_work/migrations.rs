//! Migrations while the database is in use, and by several instances at the same time.

use database::{MigrateError, RELIABILITY, migrate};
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use futures_util::future::join_all;
use testkit::{TestDatabase, eventually};

/// A table, and an index that is built without a lock.
const FIRST: EmbeddedMigrations = embed_migrations!("tests/unit_of_work/migrations");
/// A change of the table.
const LATER: EmbeddedMigrations = embed_migrations!("tests/unit_of_work/later_migrations");

async fn apply(database: &TestDatabase, sets: Vec<EmbeddedMigrations>) -> Result<(), MigrateError> {
    migrate(&database.owner_url().into(), sets).await
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_migrate_at_the_same_time_apply_each_migration_once() {
    let database = TestDatabase::empty().await;
    let all = join_all((0..4).map(|_| apply(&database, vec![FIRST, LATER]))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let valid =
        "SELECT count(*) AS number FROM pg_index WHERE indexrelid = 'page_words'::regclass AND indisvalid";
    let valid: Count = sql_query(valid).get_result(&mut database.owner().await).await.unwrap();
    assert_eq!(valid.number, 1, "the index is not built");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_waits_for_a_table_gives_way_to_others_and_is_applied_after_them() {
    let database = TestDatabase::empty().await;
    apply(&database, vec![FIRST]).await.unwrap();
    let mut report = database.owner().await;
    report.batch_execute("BEGIN; SELECT * FROM page").await.unwrap();

    let migration = apply(&database, vec![LATER]);
    let meanwhile = async {
        let waiting = "SELECT count(*) AS number FROM pg_locks WHERE NOT granted AND relation = 'page'::regclass \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        eventually("the migration waits for the report", async || {
            let waiting: Count = sql_query(waiting).get_result(&mut database.owner().await).await.unwrap();
            (waiting.number == 1).then_some(())
        })
        .await;
        let mut insert = database.owner().await;
        insert
            .batch_execute("SET lock_timeout = '10s'; INSERT INTO page VALUES (1, 'meanwhile')")
            .await
            .unwrap();
        report.batch_execute("COMMIT").await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migration, meanwhile);
    migrated.unwrap();
    database.owner().await.batch_execute("UPDATE page SET author = 'a migration'").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reliability_tables_are_added_to_a_database_that_is_in_use() {
    let database = TestDatabase::empty().await;
    apply(&database, vec![FIRST]).await.unwrap();
    let mut owner = database.owner().await;
    owner.batch_execute("BEGIN; LOCK TABLE page IN ACCESS EXCLUSIVE MODE").await.unwrap();
    // A migration that needed the locked table would wait, and then fail.
    apply(&database, vec![RELIABILITY]).await.unwrap();
    owner.batch_execute("COMMIT").await.unwrap();

    let others = "SELECT count(*) AS number FROM pg_tables WHERE schemaname = 'public'
                  AND tablename !~ '^(audit|cursor|idempotency|inbox|job|outbox)_'
                  AND tablename NOT IN ('deployment', 'page', '__diesel_schema_migrations')";
    let others: Count = sql_query(others).get_result(&mut owner).await.unwrap();
    assert_eq!(others.number, 0);
    apply(&database, vec![RELIABILITY, LATER]).await.unwrap();
}
