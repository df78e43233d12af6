//! Commands that are idempotent by themselves: the same executor, without a key and a record.

use database::{Error, ErrorClass, Tx, UnitOfWork};
use diesel_async::SimpleAsyncConnection;
use idempotency::{CommandError, Operation, StoredResponse, execute_natural};
use testkit::eventually;

use crate::shop::{
    self, CommandBarrier, Runs, assert_untouched, caller, effects, open_transactions, records, response,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_natural_command_runs_each_time_and_leaves_no_record() {
    let database = shop::open().await;
    for expected in 1..=3 {
        let command = async |tx: &mut Tx, operation: &Operation| {
            assert_eq!(operation.caller, caller("acme", "web-shop"));
            assert_eq!(tx.traceparent().as_deref(), Some("trace"));
            shop::order(tx, operation).await
        };
        let done =
            execute_natural(&database, caller("acme", "web-shop"), Some("trace".to_owned()), command).await;
        assert_eq!(done.unwrap().status, 201);
        assert_eq!((effects(&database).await, records(&database).await), (expected, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_natural_command_is_rolled_back() {
    let database = shop::open().await;
    for kept in [true, false] {
        let command =
            async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
                shop::order(tx, operation).await?;
                tx.buffer(shop::Later(operation.clone()));
                let outcome = response(422, "no");
                Err(if kept { CommandError::Rejected(outcome) } else { CommandError::Refused(outcome) })
            };
        let returned = execute_natural(&database, caller("acme", "web-shop"), None, command).await;
        assert_eq!(returned.unwrap(), response(422, "no"));
        assert_untouched(&database).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_natural_command_that_swallows_an_error_is_not_committed() {
    let database = shop::open().await;
    let command = async |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        shop::leave(tx, operation, "note").await?;
        assert!(shop::leave(tx, operation, "note").await.is_err());
        Ok(response(201, "never"))
    };
    let error = execute_natural(&database, caller("acme", "web-shop"), None, command).await.unwrap_err();
    assert!(matches!(error, Error::Poisoned), "{error:?}");
    assert_untouched(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_natural_command_runs_again_after_contention() {
    let database = shop::open().await;
    for (failures, ran) in [(2, 3), (usize::MAX, 4)] {
        let runs = Runs::default();
        let counter = runs.clone();
        let command =
            async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
                let run = counter.add();
                shop::order(tx, operation).await?;
                if run < failures {
                    let lose =
                        "DO $$ BEGIN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END $$";
                    tx.batch_execute(lose).await?;
                }
                Ok(response(200, "done"))
            };
        let outcome = execute_natural(&database, caller("acme", "web-shop"), None, command).await;
        assert_eq!(
            outcome.map_err(|error| error.class()),
            if failures == 2 { Ok(response(200, "done")) } else { Err(ErrorClass::Contention) }
        );
        assert_eq!((runs.number(), effects(&database).await), (ran, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_natural_command_is_still_executed() {
    let database = shop::open().await;
    let barrier = CommandBarrier::closed();
    let stop = barrier.clone();
    let command = async move |tx: &mut Tx, operation: &Operation| {
        let stored = shop::order(tx, operation).await?;
        stop.pass().await;
        Ok(stored)
    };
    tokio::select! {
        biased;
        _ = execute_natural(&database, caller("acme", "web-shop"), None, command) => panic!("the barrier was shut"),
        () = barrier.reached() => {}
    }
    barrier.open();
    eventually("it is carried out", async || (effects(&database).await == 1).then_some(())).await;
    eventually("no transaction stays open", async || (open_transactions(&database).await == 0).then_some(()))
        .await;
}
