//! A connection that is lost during COMMIT: the outcome is unknown until a retry reads the record.

use std::time::Duration;

use database::{Database, Error, ErrorClass, Settings};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use idempotency::{IdempotencyMetrics, Outcome};
use testkit::{Metrics, Proxy, TestDatabase, eventually, labelled};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::shop::{self, KEY, Number, effects, open_transactions, records, request, send};

/// A trigger that holds COMMIT until the test lets it succeed or fail.
pub(crate) fn slow_commit(verdict: &str) -> String {
    format!(
        "CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           SET LOCAL lock_timeout = 0; \
           PERFORM pg_advisory_xact_lock_shared(1); \
           {verdict} \
           RETURN NULL; \
         END $$; \
         CREATE CONSTRAINT TRIGGER wait_in_commit AFTER INSERT ON effect \
           DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_in_commit()"
    )
}

/// Sends a request whose connection is cut during COMMIT. The test decides when COMMIT continues.
struct Lost {
    database: TestDatabase,
    instance: Database,
    holder: AsyncPgConnection,
}

impl Lost {
    async fn in_commit(verdict: &str) -> Self {
        let database = shop::open().await;
        let mut holder = database.owner().await;
        holder.batch_execute(&slow_commit(verdict)).await.unwrap();
        holder.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();

        let proxy = Proxy::to_postgres().await;
        let settings = Settings {
            statement_timeout: Duration::from_mins(1),
            ..Settings::new(database.service_url(Some(proxy.address())))
        };
        let instance = Database::new(&settings, Handle::current()).unwrap();
        let (outcome, ()) = tokio::join!(send(&instance, request(KEY, "a")), async {
            eventually("COMMIT waits", async || (waiting(&database).await == 1).then_some(())).await;
            proxy.cut().await;
        });
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::CommitUnknown(_)), "{error:?}");
        assert_eq!(error.class(), ErrorClass::CommitUnknown);
        let counted = Metrics::counted::<IdempotencyMetrics>(&instance);
        assert_eq!(counted.by_label("idempotency_requests_total"), labelled(&[("commit_unknown", 1)]));
        proxy.mend();
        // The proxy ends with this function, so the instance connects directly from here on.
        let instance = {
            drop(instance);
            database.second_instance()
        };
        Self { database, instance, holder }
    }

    async fn go_on(&mut self) {
        self.holder.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        let database = &self.database;
        eventually("COMMIT ends", async || (open_transactions(database).await == 0).then_some(())).await;
    }
}

/// Counts the transactions that wait in COMMIT.
pub(crate) async fn waiting(database: &TestDatabase) -> i64 {
    let mut watcher = database.owner().await;
    let waiting = "SELECT count(*) AS number FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    diesel::sql_query(waiting).get_result::<Number>(&mut watcher).await.unwrap().number
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_unknown_outcome_that_was_kept_is_replayed() {
    let mut lost = Lost::in_commit("").await;
    // While the COMMIT is undecided, a retry gets "in progress" and does not run.
    assert_eq!(send(&lost.instance, request(KEY, "a")).await.unwrap(), Outcome::InProgress);
    lost.go_on().await;
    assert!(matches!(send(&lost.instance, request(KEY, "a")).await.unwrap(), Outcome::Replayed { .. }));
    assert_eq!(send(&lost.instance, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    assert_eq!((effects(&lost.database).await, records(&lost.database).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_unknown_outcome_that_failed_is_carried_out_afresh() {
    let mut lost = Lost::in_commit("RAISE EXCEPTION 'no';").await;
    assert_eq!(send(&lost.instance, request(KEY, "a")).await.unwrap(), Outcome::InProgress);
    lost.go_on().await;
    assert_eq!((effects(&lost.database).await, records(&lost.database).await), (0, 0));

    lost.holder.batch_execute("DROP TRIGGER wait_in_commit ON effect").await.unwrap();
    assert!(matches!(send(&lost.instance, request(KEY, "a")).await.unwrap(), Outcome::Executed(_)));
    assert_eq!((effects(&lost.database).await, records(&lost.database).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_gets_no_answer_is_of_unknown_outcome() {
    let database = shop::open().await;
    let mut holder = database.owner().await;
    holder.batch_execute(&slow_commit("")).await.unwrap();
    holder.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let statement_timeout = Duration::from_millis(100);
    let instance = shop::instance(&database, |settings| Settings { statement_timeout, ..settings });
    let hung = timeout(Duration::from_mins(1), send(&instance, request(KEY, "a"))).await.expect("an answer");
    assert_eq!(hung.unwrap_err().class(), ErrorClass::CommitUnknown);
    assert_eq!(send(&instance, request(KEY, "a")).await.unwrap(), Outcome::InProgress);
    holder.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    eventually("COMMIT ends", async || (open_transactions(&database).await == 0).then_some(())).await;
    assert!(matches!(send(&instance, request(KEY, "a")).await.unwrap(), Outcome::Replayed { .. }));
    assert_eq!((effects(&database).await, records(&database).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constraint_that_refuses_the_commit_stores_nothing() {
    let database = shop::open().await;
    let deferred =
        "ALTER TABLE effect ADD CONSTRAINT single UNIQUE (operation_id) DEFERRABLE INITIALLY DEFERRED";
    database.owner().await.batch_execute(deferred).await.unwrap();
    let command = async |tx: &mut database::Tx, operation: &idempotency::Operation| {
        shop::leave(tx, operation, "one").await?;
        shop::leave(tx, operation, "two").await?;
        Ok(shop::response(201, "never"))
    };
    let outcome =
        idempotency::execute(&database, idempotency::Retention::default(), request(KEY, "a"), command).await;
    let error = outcome.unwrap_err();
    assert!(error.is_constraint("single"), "{error:?}");
    shop::assert_untouched(&database).await;
}
