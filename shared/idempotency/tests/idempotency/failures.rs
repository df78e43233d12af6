//! Failures without a business outcome: nothing is stored, so a retry runs the command.

use database::{Database, Error, ErrorClass, Settings, Tx, UnitOfWork};
use diesel_async::SimpleAsyncConnection;
use idempotency::{CommandError, Operation, Outcome, Retention, StoredResponse};
use testkit::{Proxy, TestDatabase, eventually};
use tokio::runtime::Handle;

use crate::shop::{self, CommandBarrier, KEY, Runs, assert_untouched, effects, request, response, send};

async fn assert_free(database: &TestDatabase) {
    assert_untouched(database).await;
    assert!(matches!(send(database, request(KEY, "a")).await.unwrap(), Outcome::Executed(_)));
    assert_eq!(effects(database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_infrastructure_error_stores_nothing() {
    let database = shop::open().await;
    let command = async |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        shop::order(tx, operation).await?;
        tx.buffer(shop::Later(operation.clone()));
        tx.batch_execute("SELECT 1 / 0").await?;
        Ok(response(201, "never"))
    };
    let error =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), command).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert_free(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swallowed_database_error_never_becomes_a_stored_success() {
    let database = shop::open().await;
    // The ignored error is in the last statement, in an earlier one, and in the buffered writes.
    for way in 0..3 {
        let command =
            async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
                shop::leave(tx, operation, "note").await?;
                if way < 2 {
                    assert!(shop::leave(tx, operation, "note").await.is_err());
                } else {
                    tx.buffer(shop::Later(operation.clone()));
                    tx.buffer(shop::Later(operation.clone()));
                }
                if way == 1 {
                    let _ = shop::leave(tx, operation, "another note").await;
                }
                Ok(response(201, "never"))
            };
        let error = idempotency::execute(&database, Retention::default(), request(KEY, "a"), command)
            .await
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::Permanent, "way {way}: {error}");
        assert_untouched(&database).await;
    }
    assert_free(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_command_stores_nothing_and_frees_its_key() {
    let database = shop::open().await;
    let command = async |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        shop::order(tx, operation).await?;
        panic!("as a mistake in a handler would")
    };
    let outcome = idempotency::execute(&database, Retention::default(), request(KEY, "a"), command).await;
    assert!(matches!(outcome, Err(Error::Panicked)), "{outcome:?}");
    eventually("the transaction ends", async || {
        (shop::open_transactions(&database).await == 0).then_some(())
    })
    .await;
    assert_free(&database).await;
}

/// The shop behind a proxy.
async fn distant(database: &TestDatabase) -> (Proxy, Database) {
    let proxy = Proxy::to_postgres().await;
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    (proxy, distant)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_no_command_is_executed() {
    let database = shop::open().await;
    let (proxy, distant) = distant(&database).await;
    let runs = Runs::default();
    let counter = runs.clone();
    let command = async move |tx: &mut Tx, operation: &Operation| {
        counter.add();
        shop::order(tx, operation).await
    };
    // The pool already has a connection, so the test covers a dead pooled connection.
    distant.ping().await.unwrap();
    proxy.cut().await;
    for _ in 0..3 {
        let outcome =
            idempotency::execute(&distant, Retention::default(), request(KEY, "a"), command.clone()).await;
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::Unavailable);
    }
    assert_eq!(runs.number(), 0);
    assert_untouched(&database).await;

    proxy.mend();
    let healed = eventually("the pool heals", async || {
        idempotency::execute(&distant, Retention::default(), request(KEY, "a"), command.clone()).await.ok()
    })
    .await;
    assert!(matches!(healed, Outcome::Executed(_)));
    assert_eq!((runs.number(), effects(&database).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_in_the_middle_of_a_command_stores_nothing() {
    let database = shop::open().await;
    let (proxy, distant) = distant(&database).await;
    let barrier = CommandBarrier::closed();
    let (outcome, ()) = tokio::join!(barrier.send(&distant, request(KEY, "a")), async {
        barrier.reached().await;
        proxy.cut().await;
        barrier.open();
    });
    // COMMIT travels behind the write, so the client cannot know which of them arrived.
    assert_eq!(outcome.unwrap_err().class(), ErrorClass::CommitUnknown);
    eventually("the transaction ends", async || {
        (shop::open_transactions(&database).await == 0).then_some(())
    })
    .await;
    assert_free(&database).await;
}
