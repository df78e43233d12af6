//! Retries during and after a failure of the first handler.

use diesel_async::SimpleAsyncConnection;
use futures_util::future::join_all;
use idempotency::{Conclusion, Outcome};

use super::{
    LONG, NONE, SHORT, Shop, accepted, assert_replayed, conclude, concluded, created, not_executed, send,
    state, under_way,
};
use crate::shop::{self, KEY, Runs, effects, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_progress_is_409_for_its_duplicate_and_reused_for_another_request() {
    let database = shop::open().await;
    let (outcome, ()) = tokio::join!(send(&database, LONG, request(KEY, "a")), async {
        let id = under_way(&database).await;
        let other = database.second_instance();
        for instance in [&*database, &other] {
            assert_eq!(send(instance, LONG, request(KEY, "a")).await, Outcome::InProgress);
            assert_eq!(send(instance, LONG, request(KEY, "b")).await, Outcome::Reused);
        }
        conclude(&database, id, Conclusion::Succeeded(created())).await;
    });
    assert_eq!(outcome, Outcome::Executed(created()));
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_waits_for_a_dead_handler() {
    let database = shop::open().await;
    // The handler ends after the command is accepted. The worker continues.
    let died = tokio::time::timeout(SHORT * 10, send(&database, LONG, request(KEY, "a"))).await;
    assert!(died.is_err());
    let id = under_way(&database).await;
    let other = database.second_instance();
    assert_eq!(send(&other, LONG, request(KEY, "a")).await, Outcome::InProgress);
    let age = "UPDATE idempotency_operation SET started_at = started_at - interval '1 hour'";
    database.owner().await.batch_execute(age).await.unwrap();
    assert_eq!(send(&other, LONG, request(KEY, "a")).await, Outcome::Executed(accepted(id)));
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &accepted(id));
    assert!(conclude(&database, id, Conclusion::Succeeded(created())).await);
    assert_replayed(&send(&other, LONG, request(KEY, "a")).await, &accepted(id));
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_retry_repeats_an_attempt_without_effect_under_the_same_operation() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let (shop, other) = (Shop::default(), database.second_instance());
    let (outcome, ()) = tokio::join!(shop.send(&other, LONG, request(KEY, "a")), async {
        assert_eq!(under_way(&database).await, id);
        assert_eq!(send(&database, LONG, request(KEY, "a")).await, Outcome::InProgress);
        conclude(&database, id, Conclusion::Succeeded(created())).await;
    });
    assert_eq!(outcome.unwrap(), Outcome::Executed(created()));
    assert_eq!((shop.begun.number(), shop.resumed.number(), effects(&database).await), (0, 1, 2));
    assert_eq!(state(&database, id).await, "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_age_of_an_attempt_counts_from_its_own_start() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let age = "UPDATE idempotency_operation SET started_at = '2020-01-01', created_at = '2020-01-01'; \
               UPDATE idempotency_record SET created_at = '2020-01-01'";
    database.owner().await.batch_execute(age).await.unwrap();
    let died = tokio::time::timeout(SHORT * 10, send(&database, LONG, request(KEY, "a"))).await;
    assert!(died.is_err());
    assert_eq!(under_way(&database).await, id);
    assert_eq!(send(&database, LONG, request(KEY, "a")).await, Outcome::InProgress);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_retries_of_an_attempt_without_effect_one_repeats_it() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let (shop, other) = (Shop::default(), database.second_instance());
    let retries = (0..20).map(|number| {
        let instance = if number % 2 == 0 { &*database } else { &other };
        shop.send(instance, NONE, request(KEY, "a"))
    });
    for outcome in join_all(retries).await {
        match outcome.unwrap() {
            Outcome::InProgress => {}
            Outcome::Executed(stored) | Outcome::Replayed { response: stored, .. } => {
                assert_eq!(stored, accepted(id));
            }
            outcome => panic!("{outcome:?}"),
        }
    }
    assert_eq!(effects(&database).await, 2, "begun once, resumed once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_cannot_be_resumed_does_not_change() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let runs = Runs::default();
    let counted = runs.clone();
    let begin = async |_: &mut database::Tx, _: &idempotency::Operation| panic!("it was begun before");
    let resume = async move |_: &mut database::Tx, _: &idempotency::Operation| {
        counted.add();
        Err(idempotency::CommandError::Database(database::Error::Unavailable("away".to_owned())))
    };
    let policy = idempotency::WaitPolicy { limit: LONG, accepted };
    let outcome = idempotency::start(
        &database,
        idempotency::Retention::default(),
        policy,
        request(KEY, "a"),
        begin,
        resume,
    )
    .await;
    assert!(matches!(outcome, Err(database::Error::Unavailable(_))), "{outcome:?}");
    assert_eq!((runs.number(), state(&database, id).await.as_str()), (1, "failed_retryable"));
}
