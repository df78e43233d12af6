//! The outcome of a key whose record has moved to the tombstones.

use idempotency::{Key, KeyPolicy, Outcome, RecordState, records_of};

use super::{change, count, erase, expire, rows};
use crate::shop::{self, KEY, caller, effects, request, send};

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_key_is_refused_for_any_request_and_never_executed_again() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    assert_eq!(
        (erase(&database).await, rows(&database).await),
        (0, (1, 1, 0)),
        "the response is still replayed"
    );

    expire(&database).await;
    let before = (
        send(&database, request(KEY, "a")).await.unwrap(),
        send(&database, request(KEY, "b")).await.unwrap(),
    );
    assert_eq!((erase(&database).await, rows(&database).await), (1, (0, 0, 1)));
    let after = (
        send(&database, request(KEY, "a")).await.unwrap(),
        send(&database, request(KEY, "b")).await.unwrap(),
    );
    assert_eq!((before, after), ((Outcome::Expired, Outcome::Expired), (Outcome::Expired, Outcome::Expired)));
    assert_eq!((effects(&database).await, erase(&database).await), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_key_is_still_shown_to_its_client() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    expire(&database).await;
    let key = Key::parse(KEY.as_bytes(), KeyPolicy::Uuid).unwrap();
    let mut connection = database.connection().await.unwrap();
    let owner = caller("acme", "web-shop");
    let before = records_of(&mut connection, &owner, &key).await.unwrap();
    assert_eq!(erase(&database).await, 1);
    let after = records_of(&mut connection, &owner, &key).await.unwrap();
    let [record] = after.data.as_slice() else { panic!("{after:?}") };
    assert_eq!((record.state, record.status), (RecordState::Expired, Some(201)));
    assert_eq!(after, before, "operation, route and times are the same");
    for other in [caller("acme", "till"), caller("rival", "web-shop")] {
        assert_eq!(records_of(&mut connection, &other, &key).await.unwrap().data, []);
    }
}

/// The key on another route, of another client or of another tenant is another command.
#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_refuses_its_own_scope_only() {
    let database = shop::open().await;
    let first = request(KEY, "a");
    send(&database, first.clone()).await.unwrap();
    expire(&database).await;
    assert_eq!(erase(&database).await, 1);
    let mut scopes = [first.scope.clone(), first.scope.clone(), first.scope];
    scopes[0].route = "/v1/payments".to_owned();
    scopes[1].caller = caller("acme", "till");
    scopes[2].caller = caller("rival", "web-shop");
    for scope in scopes {
        let outcome = send(&database, shop::request_in(scope.clone(), KEY, "a")).await.unwrap();
        assert!(matches!(outcome, Outcome::Executed(_)), "{scope:?}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_a_final_outcome_never_moves() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    for state in ["started", "failed_retryable", "unknown"] {
        let past = format!(
            "UPDATE idempotency_record SET state = '{state}', expires_at = clock_timestamp() - interval '40 days', \
             tombstone_until = clock_timestamp() - interval '10 days'"
        );
        change(&database, &past).await;
        assert_eq!((erase(&database).await, rows(&database).await), (0, (1, 1, 0)), "{state}");
    }
    change(&database, "UPDATE idempotency_record SET state = 'failed_terminal', status = 500").await;
    assert_eq!(erase(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_free_again_after_its_tombstone() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    expire(&database).await;
    assert_eq!(erase(&database).await, 1);
    assert_eq!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Expired);
    // The time is up, and its partition is still there.
    change(&database, "UPDATE idempotency_tombstone SET tombstone_until = clock_timestamp()").await;
    assert!(matches!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Executed(_)));

    // A job that did not run for a month leaves no tombstone for this record.
    change(
        &database,
        "UPDATE idempotency_record SET expires_at = created_at, tombstone_until = clock_timestamp()",
    )
    .await;
    assert_eq!((erase(&database).await, rows(&database).await), (1, (0, 0, 1)));
    assert!(matches!(send(&database, request(KEY, "c")).await.unwrap(), Outcome::Executed(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_has_neither_the_key_nor_its_caller_nor_the_request() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    expire(&database).await;
    assert_eq!(erase(&database).await, 1);
    let found = "SELECT count(*) AS number FROM idempotency_tombstone AS tombstone \
                  WHERE tombstone::text ~ 'acme|web-shop|8e03978e'";
    assert_eq!(count(&database, found).await, 0);
}
