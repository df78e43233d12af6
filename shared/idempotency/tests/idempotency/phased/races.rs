//! Races between two handlers and a worker.

use std::time::Duration;

use database::Database;
use diesel::prelude::*;
use diesel::sql_query;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use envelope::OperationId;
use futures_util::future::join_all;
use idempotency::{Conclusion, OperationState, Outcome};
use testkit::{TestDatabase, eventually};
use uuid::Uuid;

use super::{LONG, SHORT, Shop, accepted, assert_replayed, conclude, created, operation, send, under_way};
use crate::shop::{self, KEY, Number, effects, idempotency_record, request};

/// Waits until a session of the service waits for a row lock.
async fn waits_for_a_lock(database: &TestDatabase) {
    let mut watcher = AsyncPgConnection::establish(&database.service_url(None)).await.unwrap();
    eventually("a session waits for a row", async || {
        let waiting = "SELECT count(*) AS number FROM pg_stat_activity \
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let waiting: Number = sql_query(waiting).get_result(&mut watcher).await.unwrap();
        (waiting.number == 1).then_some(())
    })
    .await;
}

/// Waits until the key has an operation.
async fn of_key(database: &Database, key: &str) -> OperationId {
    eventually("a record", async || {
        let mut connection = database.connection().await.unwrap();
        let record = idempotency_record::table.filter(idempotency_record::key.eq(key));
        let id: Option<Uuid> =
            record.select(idempotency_record::operation_id).first(&mut connection).await.optional().unwrap();
        id.map(OperationId::from)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_starts_one_begins() {
    let database = shop::open().await;
    let (shop, other) = (Shop::default(), database.second_instance());
    let starts = (0..30).map(|number| {
        let instance = if number % 2 == 0 { &*database } else { &other };
        shop.send(instance, LONG, request(KEY, "a"))
    });
    let (outcomes, ()) = tokio::join!(join_all(starts), async {
        let id = under_way(&database).await;
        conclude(&database, id, Conclusion::Succeeded(created())).await;
    });
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
    let first = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Executed(_))).count();
    assert_eq!((first, effects(&database).await), (1, 1), "{outcomes:?}");
    for outcome in outcomes {
        match outcome {
            Outcome::InProgress => {}
            Outcome::Executed(stored) | Outcome::Replayed { response: stored, .. } => {
                assert_eq!(stored, created());
            }
            outcome => panic!("{outcome:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_commits_at_the_limit_is_the_response_of_every_caller() {
    let database = shop::open().await;
    let (outcome, ()) = tokio::join!(send(&database, SHORT * 10, request(KEY, "a")), async {
        let id = under_way(&database).await;
        let mut tx = database.begin().await.unwrap();
        idempotency::conclude(&mut tx, id, Conclusion::Succeeded(created())).await.unwrap();
        // The handler reaches its time limit, and then waits for the worker's lock.
        waits_for_a_lock(&database).await;
        tx.commit().await.unwrap();
    });
    assert_eq!(outcome, Outcome::Executed(created()));
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &created());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_was_rolled_back_is_no_stored_response() {
    let database = shop::open().await;
    let (outcome, id) = tokio::join!(send(&database, SHORT * 10, request(KEY, "a")), async {
        let id = under_way(&database).await;
        let mut tx = database.begin().await.unwrap();
        idempotency::conclude(&mut tx, id, Conclusion::Succeeded(created())).await.unwrap();
        waits_for_a_lock(&database).await;
        tx.rollback().await.unwrap();
        id
    });
    assert_eq!(outcome, Outcome::Executed(accepted(id)));
    assert_eq!(operation(&database, id).await.state, OperationState::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_the_retry_gets_the_response_of_the_handler() {
    let database = shop::open().await;
    for number in 0..20 {
        let key = format!("00000000-0000-4000-8000-{number:012}");
        let limit = Duration::from_millis(5 + number);
        let (outcome, id) = tokio::join!(send(&database, limit, request(&key, "a")), async {
            let id = of_key(&database, &key).await;
            conclude(&database, id, Conclusion::Succeeded(created())).await;
            id
        });
        let Outcome::Executed(first) = outcome else { panic!("{outcome:?}") };
        assert!(first == created() || first == accepted(id), "{first:?}");
        assert_replayed(&send(&database, LONG, request(&key, "a")).await, &first);
        assert_eq!(operation(&database, id).await.reply, Some(created()));
    }
}
