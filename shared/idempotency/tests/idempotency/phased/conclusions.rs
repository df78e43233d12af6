//! Conclusions of an operation in each of its states.

use idempotency::{Conclusion, OperationState, Outcome};

use super::{
    LONG, assert_replayed, conclude, concluded, created, declined, not_executed, operation, promised, send,
    state, under_way,
};
use crate::shop::{self, KEY, request, response};

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_without_effect_is_reported_and_stores_no_response() {
    let database = shop::open().await;
    let (id, outcome) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    assert_eq!(outcome, Outcome::Refused(not_executed()));
    assert_eq!(state(&database, id).await, "failed_retryable");
    let operation = operation(&database, id).await;
    assert_eq!((operation.state, operation.reply), (OperationState::Running, None));
    assert_eq!(send(&database, LONG, request(KEY, "b")).await, Outcome::Reused);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_without_a_retry_ends_with_a_stored_response() {
    let database = shop::open().await;
    let (id, _) = concluded(&database, request(KEY, "a"), Conclusion::Retryable(not_executed())).await;
    let expired = response(409, "expired");
    assert!(conclude(&database, id, Conclusion::Failed(expired.clone())).await);
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &expired);
    assert_eq!(state(&database, id).await, "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_failure_is_stored_once() {
    let database = shop::open().await;
    let broken = response(500, "broken");
    let (id, outcome) = concluded(&database, request(KEY, "a"), Conclusion::Terminal(broken.clone())).await;
    assert_eq!(outcome, Outcome::Executed(broken.clone()));
    assert_replayed(&send(&database, LONG, request(KEY, "a")).await, &broken);
    assert_eq!(state(&database, id).await, "failed_terminal");
    // A later conclusion changes nothing.
    assert!(!conclude(&database, id, Conclusion::Failed(declined())).await);
    assert!(!conclude(&database, id, Conclusion::Unknown).await);
    assert!(!conclude(&database, id, Conclusion::Retryable(not_executed())).await);
    assert_eq!(operation(&database, id).await.reply, Some(broken));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_202_an_attempt_without_effect_is_repeated_by_the_server() {
    let database = shop::open().await;
    let id = promised(&database, request(KEY, "a")).await;
    assert!(!conclude(&database, id, Conclusion::Retryable(not_executed())).await);
    assert_eq!(state(&database, id).await, "unknown");
    assert!(conclude(&database, id, Conclusion::Terminal(response(500, "broken"))).await);
    assert_eq!(state(&database, id).await, "failed_terminal");
    assert!(
        matches!(send(&database, LONG, request(KEY, "a")).await, Outcome::Replayed { response: stored, .. } if stored.status == 202)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_is_shown_and_ends_nothing() {
    let database = shop::open().await;
    let (outcome, id) = tokio::join!(send(&database, LONG, request(KEY, "a")), async {
        let id = under_way(&database).await;
        assert!(!conclude(&database, id, Conclusion::Unknown).await);
        assert_eq!(operation(&database, id).await.state, OperationState::Unknown);
        assert_eq!(state(&database, id).await, "started");
        conclude(&database, id, Conclusion::Succeeded(created())).await;
        id
    });
    assert_eq!(outcome, Outcome::Executed(created()));
    assert_eq!(operation(&database, id).await.state, OperationState::Succeeded);
}
