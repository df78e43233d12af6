#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! What a unit of work promises, against a real PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use database::{Buffered, Database, Error, Settings, Tx};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use testkit::{TestDatabase, eventually};
use tokio::runtime::Handle;

diesel::table! {
    note (id) { id -> BigInt, }
}

/// A row that waits until the end.
struct Note(i64);

impl Buffered for Note {
    fn write(rows: Vec<Self>, tx: &Tx) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            for Note(id) in rows {
                diesel::insert_into(note::table).values(note::id.eq(id)).execute(&mut &*tx).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

async fn notebook() -> TestDatabase {
    let database = TestDatabase::plain().await;
    let mut owner = database.owner().await;
    owner
        .batch_execute("CREATE TABLE note (id bigint PRIMARY KEY); GRANT ALL ON note TO idem_service")
        .await
        .unwrap();
    database
}

async fn write(tx: &mut Tx, id: i64) -> QueryResult<usize> {
    diesel::insert_into(note::table).values(note::id.eq(id)).execute(tx).await
}

async fn notes(database: &Database) -> Vec<i64> {
    let mut connection = database.connection().await.unwrap();
    note::table.select(note::id).order(note::id).load(&mut connection).await.unwrap()
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Sessions of this test's database that are inside a transaction.
async fn open_transactions(database: &TestDatabase) -> i64 {
    // As the same role: another one would not be shown when a transaction began.
    let mut watcher = database.second_instance().connection().await.unwrap();
    let sessions: Count = diesel::sql_query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
    )
    .get_result(&mut watcher)
    .await
    .unwrap();
    sessions.count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_keeps_and_a_rollback_does_not() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 2).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_leaves_nothing_open() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    assert_eq!(open_transactions(&database).await, 1);
    drop(tx);
    eventually("the dropped transaction ends at the server", async || {
        (open_transactions(&database).await == 0).then_some(())
    })
    .await;
    // Its lock on the key is gone too: the same row can be written at once.
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_future_dropped_in_the_middle_of_a_statement_leaves_nothing_open() {
    let database = notebook().await;
    let work = async {
        let mut tx = database.begin().await.unwrap();
        write(&mut tx, 1).await.unwrap();
        tx.batch_execute("SELECT pg_sleep(1)").await.unwrap();
        tx.commit().await.unwrap();
    };
    let asleep = eventually("the work sleeps in its transaction", async || {
        (open_transactions(&database).await == 1).then_some(())
    });
    tokio::select! {
        () = work => panic!("the work should have been cancelled while it slept"),
        () = asleep => {}
    }
    eventually("the cancelled transaction ends at the server", async || {
        (open_transactions(&database).await == 0).then_some(())
    })
    .await;
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swallowed_error_refuses_the_commit() {
    let database = notebook().await;
    // A failing row count, a failing row, and a failing batch: each way that a statement can end.
    for way in 0..3 {
        let mut tx = database.begin().await.unwrap();
        write(&mut tx, 1).await.unwrap();
        let swallowed = match way {
            0 => write(&mut tx, 1).await.is_err(),
            1 => {
                let insert = diesel::insert_into(note::table).values(note::id.eq(1)).returning(note::id);
                insert.get_result::<i64>(&mut tx).await.is_err()
            }
            _ => tx.batch_execute("SELECT 1 / 0").await.is_err(),
        };
        assert!(swallowed, "way {way} should have failed");
        assert!(matches!(tx.commit().await, Err(Error::Poisoned)), "way {way} was committed");
    }
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_undoes_its_own_part_and_the_rest_commits() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            write(tx, 2).await?;
            write(tx, 1).await?;
            Ok(())
        })
        .await;
    assert!(undone.unwrap_err().is_constraint("note_pkey"));
    write(&mut tx, 3).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_that_swallows_an_error_is_undone() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    let swallowed: Result<(), Error> = tx
        .savepoint(async |tx| {
            let _ = write(tx, 1).await;
            Ok(())
        })
        .await;
    assert!(matches!(swallowed, Err(Error::Poisoned)));
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn buffered_rows_are_written_by_the_commit() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    tx.buffer(Note(1));
    tx.buffer(Note(2));
    assert_eq!(notes(&database).await, [0_i64; 0]);
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_takes_its_buffered_rows_back() {
    let database = notebook().await;
    let rung = Arc::new(AtomicUsize::new(0));
    let ring = |times: usize| {
        let rung = Arc::clone(&rung);
        move || {
            rung.fetch_add(times, Ordering::SeqCst);
        }
    };
    let mut tx = database.begin().await.unwrap();
    tx.buffer(Note(1));
    tx.after_commit(ring(1));
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            tx.buffer(Note(2));
            tx.after_commit(ring(10));
            Err(Error::Poisoned)
        })
        .await;
    assert!(undone.is_err());
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
    assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_after_a_commit_and_never_otherwise() {
    let database = notebook().await;
    let rung = Arc::new(AtomicUsize::new(0));
    for commit in [false, true] {
        let mut tx = database.begin().await.unwrap();
        let hook = Arc::clone(&rung);
        tx.after_commit(move || {
            hook.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 0);
        if commit { tx.commit().await.unwrap() } else { tx.rollback().await.unwrap() }
    }
    assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_its_guards() {
    #[derive(QueryableByName)]
    struct Setting {
        #[diesel(sql_type = Text)]
        value: String,
    }
    let database = notebook().await;
    let mut connection = database.connection().await.unwrap();
    for (name, value) in
        [("statement_timeout", "5s"), ("lock_timeout", "2s"), ("idle_in_transaction_session_timeout", "5s")]
    {
        let setting: Setting = diesel::sql_query("SELECT current_setting($1) AS value")
            .bind::<Text, _>(name)
            .get_result(&mut connection)
            .await
            .unwrap();
        assert_eq!(setting.value, value, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_owns_nothing() {
    let database = TestDatabase::plain().await;
    let mut connection = database.connection().await.unwrap();
    for forbidden in [
        "CREATE TABLE mine (id int)",
        "UPDATE outbox_event SET topic = 'x'",
        "DELETE FROM outbox_event",
        "UPDATE audit_fact SET action = 'x'",
        "DELETE FROM audit_fact",
        "DROP TABLE inbox_message",
    ] {
        let error = connection.batch_execute(forbidden).await.unwrap_err().to_string();
        assert!(
            error.contains("permission denied") || error.contains("must be owner"),
            "{forbidden}: {error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_connection_for_ever() {
    let database = TestDatabase::plain().await;
    let settings = Settings {
        pool_size: 1,
        pool_wait: Duration::from_millis(50),
        ..Settings::new(database.service_url(None))
    };
    let narrow = Database::new(&settings, Handle::current()).unwrap();
    let held = narrow.connection().await.unwrap();
    assert!(matches!(narrow.begin().await, Err(Error::Unavailable(_))));
    drop(held);
    narrow.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_server_is_unavailable_and_a_lost_commit_is_unknown() {
    let database = notebook().await;
    let server = testkit::given("IDEM_POSTGRES_URL");
    let address = server.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
    let proxy = testkit::Proxy::to(address).await;
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();

    let mut tx = distant.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    proxy.cut();
    assert!(matches!(tx.commit().await, Err(Error::CommitUnknown(_))));
    assert!(matches!(distant.begin().await, Err(Error::Unavailable(_))));

    proxy.mend();
    eventually("the pool heals", async || distant.ping().await.ok()).await;
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_contention() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    write(&mut tx, 2).await.unwrap();
    tx.commit().await.unwrap();
    let lock = async |tx: &mut Tx, id: i64| {
        note::table.find(id).select(note::id).for_update().first::<i64>(tx).await
    };
    let (mut one, mut two) = (database.begin().await.unwrap(), database.begin().await.unwrap());
    lock(&mut one, 1).await.unwrap();
    lock(&mut two, 2).await.unwrap();
    let (first, second) = tokio::join!(lock(&mut one, 2), lock(&mut two, 1));
    let errors: Vec<Error> = [first, second].into_iter().filter_map(Result::err).map(Error::from).collect();
    assert!(!errors.is_empty(), "one of the two must lose");
    assert!(errors.iter().all(|e| e.class() == database::Class::Contention), "{errors:?}");
}
