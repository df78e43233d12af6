//! Each step of a phased operation is counted once it is committed.

use database::Database;
use idempotency::{Conclusion, IdempotencyMetrics};
use testkit::Metrics;

use super::{LONG, concluded, created, not_executed, promised, send, under_way};
use crate::shop::{self, KEY, request, response};

fn steps(database: &Database) -> Vec<(String, i64)> {
    Metrics::counted::<IdempotencyMetrics>(database).by_label("idempotency_operations_total")
}

/// Steps that were counted once each.
fn once(expected: &[&str]) -> Vec<(String, i64)> {
    expected.iter().map(|step| ((*step).to_owned(), 1)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_an_operation_are_counted_and_a_second_conclusion_is_not() {
    let database = shop::open().await;
    let id = promised(&database, request(KEY, "a")).await;
    assert_eq!(steps(&database), once(&["accepted", "started"]));
    super::conclude(&database, id, Conclusion::Unknown).await;
    assert_eq!(steps(&database), once(&["accepted", "started", "unknown"]));
    super::conclude(&database, id, Conclusion::Succeeded(created())).await;
    super::conclude(&database, id, Conclusion::Succeeded(created())).await;
    super::conclude(&database, id, Conclusion::Unknown).await;
    assert_eq!(steps(&database), once(&["accepted", "started", "succeeded", "unknown"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conclusion_that_is_rolled_back_is_not_counted() {
    let database = shop::open().await;
    let id = promised(&database, request(KEY, "a")).await;
    let mut tx = database.begin().await.unwrap();
    assert!(idempotency::conclude(&mut tx, id, Conclusion::Succeeded(created())).await.unwrap());
    tx.rollback().await.unwrap();
    assert_eq!(steps(&database), once(&["accepted", "started"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_without_effect_is_counted_as_retryable() {
    let database = shop::open().await;
    concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    assert_eq!(steps(&database), once(&["retryable", "started"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_starts_the_next_attempt_is_counted_as_resumed_and_one_of_a_running_attempt_is_not() {
    let database = shop::open().await;
    concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let (_, ()) = tokio::join!(send(&database, LONG, request(KEY, "a")), async {
        let id = under_way(&database).await;
        send(&database, LONG, request(KEY, "a")).await;
        assert_eq!(steps(&database), once(&["resumed", "retryable", "started"]));
        super::conclude(&database, id, Conclusion::Succeeded(created())).await;
    });
    assert_eq!(steps(&database), once(&["resumed", "retryable", "started", "succeeded"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_is_counted_as_terminal_and_not_as_failed() {
    let database = shop::open().await;
    let broken = Conclusion::Terminal(response(500, "broken"));
    let (id, _) = concluded(&database, request(KEY, "a"), broken.clone()).await;
    super::conclude(&database, id, broken).await;
    assert_eq!(steps(&database), once(&["started", "terminal"]));
}
