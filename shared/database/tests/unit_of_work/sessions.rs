//! The rights and time limits of a session, and the classes of its errors.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use database::{Database, Error, Settings, Tx, UnitOfWork, WakeUp};
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use testkit::{TestDatabase, eventually};
use tokio::runtime::Handle;

use crate::bench::{note, notebook, notes, write};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_its_timeouts() {
    #[derive(QueryableByName)]
    struct Setting {
        #[diesel(sql_type = Text)]
        value: String,
    }
    let database = notebook().await;
    let mut connection = database.connection().await.unwrap();
    for (name, value) in [
        ("statement_timeout", "5s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "5s"),
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("jit", "off"),
    ] {
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
async fn waiting_for_a_connection_has_a_limit() {
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

/// PostgreSQL refuses a prepared statement whose columns have another type by now, in this session for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_whose_prepared_statement_meets_another_type() {
    diesel::table! {
        page (id) { id -> BigInt, title -> Text, }
    }
    let database = TestDatabase::plain().await;
    let mut owner = database.owner().await;
    let table =
        "CREATE TABLE page (id bigint PRIMARY KEY, title text NOT NULL); GRANT ALL ON page TO idem_service";
    owner.batch_execute(table).await.unwrap();
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(None)) };
    let one = Database::new(&settings, Handle::current()).unwrap();
    let titles = async || -> database::Result<Vec<String>> {
        Ok(page::table.select(page::title).load(&mut one.connection().await?).await?)
    };
    titles().await.unwrap();
    owner.batch_execute("ALTER TABLE page ALTER title TYPE varchar(100)").await.unwrap();
    assert!(matches!(titles().await, Err(Error::Unavailable(_))), "once");
    titles().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_its_own_does_not_wait_for_the_first_one_and_shares_everything_else() {
    #[derive(Default)]
    struct Calls(AtomicU32);
    const WRITTEN: WakeUp = WakeUp("written");
    let database = notebook().await;
    let settings = Settings {
        pool_size: 1,
        pool_wait: Duration::from_millis(50),
        ..Settings::new(database.service_url(None))
    };
    let first = Database::new(&settings, Handle::current()).unwrap();
    let own = first.with_own_pool(2).unwrap();
    let _held = first.connection().await.unwrap();
    assert!(matches!(first.begin().await, Err(Error::Unavailable(_))));

    let signal = first.wake_up(WRITTEN);
    let mut tx = own.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.wake_after_commit(WRITTEN);
    tx.commit().await.unwrap();
    assert_eq!(signal.notified().now_or_never(), Some(()));
    assert_eq!(own.unusable_session().await.unwrap(), None, "its sessions have the same timeouts");
    assert_eq!((first.pool_status().most, own.pool_status().most), (1, 2));

    own.metrics::<Calls>().0.store(7, Ordering::Relaxed);
    assert_eq!(first.metrics::<Calls>().0.fetch_add(1, Ordering::Relaxed), 7);
    let (start, started) = tokio::sync::oneshot::channel();
    drop(own.spawn(started));
    assert_eq!(first.drained().now_or_never(), None, "a task of the other pool is waited for");
    start.send(()).unwrap();
    first.drained().await;
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
    proxy.cut().await;
    assert!(matches!(tx.commit().await, Err(Error::CommitUnknown(_))));
    assert!(matches!(distant.begin().await, Err(Error::Unavailable(_))));

    proxy.mend();
    eventually("the pool heals", async || distant.ping().await.ok()).await;
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_timeout_is_classified_as_unavailable() {
    let database = TestDatabase::plain().await;
    let settings = Settings {
        statement_timeout: Duration::from_millis(50),
        ..Settings::new(database.service_url(None))
    };
    let hasty = Database::new(&settings, Handle::current()).unwrap();
    let mut tx = hasty.begin().await.unwrap();
    let error: Error = tx.batch_execute("SELECT pg_sleep(5)").await.unwrap_err().into();
    assert_eq!(error.class(), database::ErrorClass::Unavailable, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_no_writes_is_unavailable() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    tx.batch_execute("SET TRANSACTION READ ONLY").await.unwrap();
    let error = write(&mut tx, 1).await.unwrap_err();
    assert_eq!(Error::from(error).class(), database::ErrorClass::Unavailable);
    drop(tx);
    // A new connection is not made to such a server: with several hosts in the URL, the next one is tried.
    let mut owner = database.owner().await;
    let read_only = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', \
                     current_database()); END $$";
    owner.batch_execute(read_only).await.unwrap();
    let other = Database::new(&Settings::new(database.service_url(None)), Handle::current()).unwrap();
    assert!(matches!(other.begin().await, Err(Error::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_nobody_knows_is_unclassified() {
    let database = TestDatabase::plain().await;
    let mut tx = database.begin().await.unwrap();
    let error: Error = tx.batch_execute("SELECT * FROM no_such_table").await.unwrap_err().into();
    assert_eq!(error.class(), database::ErrorClass::Unclassified, "{error}");
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
    assert!(errors.iter().all(|e| e.class() == database::ErrorClass::Contention), "{errors:?}");
}
