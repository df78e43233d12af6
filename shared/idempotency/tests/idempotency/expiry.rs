//! Expiry: an expired key is refused and never executed again. Records that this program cannot read are errors.

use chrono::TimeDelta;
use diesel_async::SimpleAsyncConnection;
use idempotency::{Outcome, Retention};
use testkit::TestDatabase;

use crate::shop::{self, KEY, effects, request, send};

/// Executes a command, and then changes its record as the owner.
async fn after(change: &str) -> TestDatabase {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    database.owner().await.batch_execute(change).await.unwrap();
    database
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_refused_and_never_executed_again() {
    let database =
        after("UPDATE idempotency_record SET expires_at = clock_timestamp() - interval '1 ms'").await;
    for _ in 0..3 {
        assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    }
    // Time decides before the fingerprint, which is erased with the response.
    assert_eq!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Expired);
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_response_was_erased_has_expired() {
    let database = after(
        "DELETE FROM idempotency_snapshot; \
         UPDATE idempotency_record SET state = 'expired', expires_at = clock_timestamp()",
    )
    .await;
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_its_stored_response_has_expired() {
    let database = after("DELETE FROM idempotency_snapshot").await;
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_kept_for_the_retention_period() {
    let database = shop::open().await;
    let none = Retention { reply: TimeDelta::zero(), ..Retention::default() };
    idempotency::execute(&database, none, request(KEY, "a"), shop::order).await.unwrap();
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    assert_eq!(effects(&database).await, 1);

    // A day and thirty days by the database's clock.
    let other = "00000000-0000-4000-8000-000000000000";
    send(&database, request(other, "a")).await.unwrap();
    let mut owner = database.owner().await;
    let kept: shop::Number = diesel_async::RunQueryDsl::get_result(
        diesel::sql_query(
            "SELECT count(*) AS number FROM idempotency_record \
             WHERE expires_at BETWEEN completed_at + interval '24 h' AND completed_at + interval '24 h 1 s' \
             AND tombstone_until BETWEEN completed_at + interval '30 d' AND completed_at + interval '30 d 1 s'",
        ),
        &mut owner,
    )
    .await
    .unwrap();
    assert_eq!(kept.number, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_started_record_is_in_progress() {
    let database = after("UPDATE idempotency_record SET state = 'started', expires_at = NULL").await;
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::InProgress);
    assert_eq!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_in_an_unknown_state_is_an_error_and_is_not_executed_again() {
    let unknown = "ALTER TABLE idempotency_record DROP CONSTRAINT idempotency_record_state_check; \
                   UPDATE idempotency_record SET state = 'lost'";
    let database = after(unknown).await;
    let error = send(&database, request(KEY, "a")).await.unwrap_err();
    assert!(format!("{error:?}").contains("'lost' is not a name of RecordState"), "{error:?}");
    assert_eq!(effects(&database).await, 1);
}

/// A newer program stored it. *Reused* would tell the client that its key belongs to another request.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_with_an_unknown_fingerprint_version_is_an_error_and_is_not_executed_again() {
    let database = after("UPDATE idempotency_record SET fingerprint_version = 99").await;
    let error = send(&database, request(KEY, "a")).await.unwrap_err();
    assert!(format!("{error:?}").contains("fingerprint version 99 is not known"), "{error:?}");
    assert_eq!(effects(&database).await, 1);
}
