//! Clients that disconnect: their command still ends, and leaves no open transaction.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use idempotency::{CommandError, Operation, Outcome, Retention, StoredResponse};
use testkit::eventually;

use database::Tx;

use crate::shop::{self, CommandBarrier, KEY, effects, open_transactions, records, request, response, send};

/// Starts the request, and drops it when `then` is ready.
async fn abandon<T>(request: impl Future<Output = T>, then: impl Future<Output = ()>) {
    let mut request = pin!(request);
    tokio::select! {
        biased;
        _ = &mut request => panic!("the request ended before its client went away"),
        () = then => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_request_is_still_executed() {
    let database = shop::open().await;
    let barrier = CommandBarrier::closed();
    abandon(barrier.send(&database, request(KEY, "a")), barrier.reached()).await;
    assert_eq!((effects(&database).await, open_transactions(&database).await), (0, 1));
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::InProgress);

    barrier.open();
    let stored = eventually("the abandoned request is carried out", async || {
        match send(&database, request(KEY, "a")).await.unwrap() {
            Outcome::Replayed { response: stored, .. } => Some(stored),
            Outcome::InProgress => None,
            other => panic!("{other:?}"),
        }
    })
    .await;
    assert_eq!(stored.status, 201);
    assert_eq!((effects(&database).await, records(&database).await, barrier.runs()), (1, 1, 1));
    eventually("no transaction stays open", async || (open_transactions(&database).await == 0).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_dropped_at_any_moment_take_effect_once_and_leave_no_transaction_open() {
    let database = shop::open().await;
    for round in 0..60_u64 {
        let key = format!("00000000-0000-4000-8000-{round:012}");
        // The moment moves through the unit of work, from before the first statement to after the reply.
        let moment = Duration::from_micros(round * 150);
        let dropped = tokio::time::timeout(moment, send(&database, request(&key, "a"))).await;
        drop(dropped);
        let outcome = eventually("the key is settled", async || {
            Some(send(&database, request(&key, "a")).await.unwrap())
                .filter(|outcome| *outcome != Outcome::InProgress)
        })
        .await;
        assert!(matches!(outcome, Outcome::Executed(_) | Outcome::Replayed { .. }), "{outcome:?}");
    }
    assert_eq!((effects(&database).await, records(&database).await), (60, 60));
    eventually("no transaction stays open", async || (open_transactions(&database).await == 0).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_waits_for_commands_of_disconnected_clients() {
    let database = shop::open().await;
    let barrier = CommandBarrier::closed();
    abandon(barrier.send(&database, request(KEY, "a")), barrier.reached()).await;
    let mut drained = pin!(database.drained());
    let still = tokio::time::timeout(Duration::from_millis(50), &mut drained).await;
    assert!(still.is_err(), "drained while a unit of work was under way");
    barrier.open();
    drained.await;
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rejection_of_a_dropped_request_is_stored() {
    let database = shop::open().await;
    let barrier = CommandBarrier::closed();
    let stop = barrier.clone();
    let reject = async move |tx: &mut Tx, operation: &Operation| -> Result<StoredResponse, CommandError> {
        shop::order(tx, operation).await?;
        stop.pass().await;
        Err(CommandError::Rejected(response(409, "too late")))
    };
    let rejected = idempotency::execute(&database, Retention::default(), request(KEY, "a"), reject);
    abandon(rejected, barrier.reached()).await;
    barrier.open();
    database.drained().await;
    let outcome = send(&database, request(KEY, "a")).await.unwrap();
    assert!(
        matches!(outcome, Outcome::Replayed { response: stored, .. } if stored == response(409, "too late"))
    );
    assert_eq!(effects(&database).await, 0);
}
