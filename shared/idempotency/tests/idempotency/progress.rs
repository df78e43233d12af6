//! Requests whose key is in progress: they are answered at once and hold no connection.

use std::time::Duration;

use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::future::join_all;
use idempotency::Outcome;
use testkit::eventually;

use crate::shop::{self, CommandBarrier, KEY, Number, effects, instance, open_transactions, request, send};

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_in_flight_is_409_at_once_and_holds_no_connection() {
    let database = shop::open().await;
    let narrow = instance(&database, |settings| database::Settings { pool_size: 1, ..settings });
    let barrier = CommandBarrier::closed();
    let (first, ()) = tokio::join!(barrier.send(&database, request(KEY, "a")), async {
        barrier.reached().await;
        // All these requests are answered through one connection while the first one is held.
        let duplicates = join_all((0..30).map(|_| send(&narrow, request(KEY, "a")))).await;
        for duplicate in duplicates {
            assert_eq!(duplicate.unwrap(), Outcome::InProgress);
        }
        // The fingerprint of the first request is not visible before its commit.
        assert_eq!(send(&narrow, request(KEY, "b")).await.unwrap(), Outcome::InProgress);
        assert_eq!(open_transactions(&database).await, 1);
        // The only connection is free for other work.
        let other = "00000000-0000-4000-8000-000000000000";
        assert!(matches!(send(&narrow, request(other, "a")).await.unwrap(), Outcome::Executed(_)));
        barrier.open();
    });
    let Outcome::Executed(first) = first.unwrap() else { panic!("the first one was not carried out") };
    let again = send(&narrow, request(KEY, "a")).await.unwrap();
    assert!(matches!(again, Outcome::Replayed { response: stored, .. } if stored == first));
    assert_eq!(send(&narrow, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    assert_eq!((effects(&database).await, barrier.runs()), (2, 1));
    eventually("no transaction stays open", async || (open_transactions(&database).await == 0).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_do_not_keep_other_keys_waiting() {
    let database = shop::open().await;
    // All requests share one connection, and a busy machine may need more than a second for them.
    let pool_wait = Duration::from_secs(30);
    let narrow = instance(&database, |settings| database::Settings { pool_size: 2, pool_wait, ..settings });
    let barrier = CommandBarrier::closed();
    let (first, ()) = tokio::join!(barrier.send(&narrow, request(KEY, "a")), async {
        barrier.reached().await;
        let fresh = (0..20).map(|number| format!("00000000-0000-4000-8000-{number:012}"));
        let fresh = join_all(fresh.map(async |key| send(&narrow, request(&key, "a")).await));
        let duplicates = join_all((0..100).map(|_| send(&narrow, request(KEY, "a"))));
        let (fresh, duplicates) = tokio::join!(fresh, duplicates);
        assert!(fresh.into_iter().all(|outcome| matches!(outcome, Ok(Outcome::Executed(_)))));
        assert!(duplicates.into_iter().all(|outcome| matches!(outcome, Ok(Outcome::InProgress))));
        barrier.open();
    });
    assert!(matches!(first.unwrap(), Outcome::Executed(_)));
    assert_eq!(effects(&database).await, 21);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_key_is_replayed_although_its_lock_is_held() {
    let database = shop::open().await;
    let mut owner = database.owner().await;
    let barrier = CommandBarrier::closed();
    // Reads the number of the lock while the command holds it.
    let (first, lock) = tokio::join!(barrier.send(&database, request(KEY, "a")), async {
        barrier.reached().await;
        let held: Number = diesel::sql_query(
            "SELECT (classid::bigint << 32) | objid::bigint AS number FROM pg_locks \
             WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
        .get_result(&mut owner)
        .await
        .unwrap();
        barrier.open();
        held.number
    });
    let Outcome::Executed(first) = first.unwrap() else { panic!("not carried out") };

    // Takes the lock as another replay does while it reads.
    owner.batch_execute(&format!("SELECT pg_advisory_lock({lock})")).await.unwrap();
    let again = send(&database, request(KEY, "a")).await.unwrap();
    assert!(matches!(again, Outcome::Replayed { response: stored, .. } if stored == first));
    assert_eq!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Reused);

    // The same lock without a record means that a first request is running.
    owner.batch_execute("DELETE FROM idempotency_record").await.unwrap();
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::InProgress);
    assert_eq!((effects(&database).await, barrier.runs()), (1, 1));
}
