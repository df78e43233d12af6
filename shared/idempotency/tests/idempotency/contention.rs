//! Contention is not an outcome: the whole command runs again.

use std::sync::Arc;
use std::time::Duration;

use database::{ErrorClass, Settings, Tx};
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use idempotency::{CommandError, Operation, Outcome, Retention, StoredResponse};
use tokio::sync::Barrier;

use crate::shop::{self, KEY, Runs, assert_untouched, effects, instance, request, response};

diesel::table! {
    shelf (id) { id -> BigInt, }
}

async fn lock(tx: &mut Tx, id: i64) -> QueryResult<i64> {
    shelf::table.find(id).select(shelf::id).for_update().first(tx).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loser_of_a_deadlock_is_executed_again() {
    let database = shop::open().await;
    let (runs, both) = (Runs::default(), Arc::new(Barrier::new(2)));
    let send = |key: &'static str, order: [i64; 2]| {
        let (runs, both) = (runs.clone(), Arc::clone(&both));
        let command =
            async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
                let run = runs.add();
                shop::leave(tx, operation, key).await?;
                lock(tx, order[0]).await?;
                if run < 2 {
                    both.wait().await;
                }
                lock(tx, order[1]).await?;
                Ok(response(201, key))
            };
        idempotency::execute(&database, Retention::default(), request(key, "a"), command)
    };
    let (one, two) = tokio::join!(
        send("00000000-0000-4000-8000-000000000001", [1, 2]),
        send("00000000-0000-4000-8000-000000000002", [2, 1]),
    );
    assert!(matches!((one.unwrap(), two.unwrap()), (Outcome::Executed(_), Outcome::Executed(_))));
    // One of the two commands lost and ran again. Its first effect was rolled back, or its second run would have failed.
    // It may overtake the waiting command, and lose again.
    assert!(runs.number() > 2, "no command ran again");
    assert_eq!(effects(&database).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_timeout_is_retried() {
    let database = shop::open().await;
    let hasty =
        instance(&database, |settings| Settings { lock_timeout: Duration::from_millis(50), ..settings });
    let mut other = database.owner().await;
    other.batch_execute("BEGIN; SELECT * FROM shelf WHERE id = 1 FOR UPDATE").await.unwrap();
    let (runs, busy) = (Runs::default(), Arc::new(tokio::sync::Mutex::new(other)));
    let counter = runs.clone();
    let command = async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        if counter.add() == 2 {
            // The blocking session ends before the third run.
            busy.lock().await.batch_execute("COMMIT").await?;
        }
        shop::leave(tx, operation, "note").await?;
        lock(tx, 1).await?;
        Ok(response(201, "had it"))
    };
    let outcome =
        idempotency::execute(&hasty, Retention::default(), request(KEY, "a"), command).await.unwrap();
    assert_eq!(outcome, Outcome::Executed(response(201, "had it")));
    assert_eq!((runs.number(), effects(&database).await), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn lasting_contention_is_reported_and_stores_nothing() {
    let database = shop::open().await;
    let runs = Runs::default();
    let counter = runs.clone();
    let command = async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        counter.add();
        shop::order(tx, operation).await?;
        tx.batch_execute("DO $$ BEGIN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END $$")
            .await?;
        Ok(response(201, "never"))
    };
    let error =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), command).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Contention);
    assert_eq!(runs.number(), 4);
    assert_untouched(&database).await;
}
