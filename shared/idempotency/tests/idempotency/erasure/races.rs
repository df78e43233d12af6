//! A retry that races the erasure never runs the command again.

use std::time::Duration;

use database::Database;
use diesel_async::SimpleAsyncConnection;
use futures_util::future::join_all;
use idempotency::Outcome;
use testkit::{TestDatabase, eventually};

use super::{change, count, erase, expire, rows};
use crate::shop::{self, KEY, effects, request, send};

/// Holds each insert of tombstones, before its COMMIT, until this lock is free.
const HOLD: &str = "
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;
    CREATE TRIGGER hold AFTER INSERT ON idempotency_tombstone FOR EACH STATEMENT EXECUTE FUNCTION hold()";

/// An instance that waits long for locks and connections.
fn patient(database: &TestDatabase) -> Database {
    let limit = Duration::from_secs(50);
    shop::instance(database, |settings| database::Settings {
        pool_wait: limit,
        lock_timeout: limit,
        statement_timeout: limit,
        idle_in_transaction_timeout: limit,
        ..settings
    })
}

async fn waits(database: &TestDatabase, what: &str) {
    let query = format!(
        "SELECT count(*) AS number FROM pg_locks WHERE NOT granted AND {what} \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    eventually(what, async || (count(database, &query).await == 1).then_some(())).await;
}

/// The retry has taken the lock of its key, and reads only after the record has moved. If it had looked at the tombstones
/// before, or if the record moved in two transactions, it would find the key in neither table.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_moves_while_a_retry_holds_the_key_is_found_as_a_tombstone() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    expire(&database).await;
    change(&database, HOLD).await;
    let mut holder = database.owner().await;
    holder.batch_execute("SELECT pg_advisory_lock(77)").await.unwrap();
    let (mover, retry) = (patient(&database), patient(&database));

    let moved = mover.spawn({
        let mover = mover.clone();
        async move { erase(&mover).await }
    });
    waits(&database, "locktype = 'advisory'").await;
    // Before the COMMIT of the move, a retry finds the record.
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);

    let mut gate = database.owner().await;
    let close = "BEGIN; LOCK TABLE idempotency_record IN ACCESS EXCLUSIVE MODE; COMMIT";
    let gate = mover.spawn(async move { gate.batch_execute(close).await });
    waits(&database, "relation = 'idempotency_record'::regclass AND mode = 'AccessExclusiveLock'").await;
    let retried = retry.spawn({
        let retry = retry.clone();
        async move { send(&retry, request(KEY, "a")).await }
    });
    // Its first statement is done, and its second one waits at the gate.
    waits(&database, "relation = 'idempotency_record'::regclass AND mode = 'AccessShareLock'").await;

    holder.batch_execute("SELECT pg_advisory_unlock(77)").await.unwrap();
    assert_eq!(moved.await.unwrap(), 1);
    gate.await.unwrap().unwrap();
    assert_eq!(retried.await.unwrap().unwrap(), Outcome::Expired);
    assert_eq!((effects(&database).await, rows(&database).await), (1, (0, 0, 1)));
}

const KEYS: usize = 2_000;

fn key(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_of_many_keys_that_race_two_erasures_never_run_a_command() {
    let database = shop::open().await;
    let fill = format!(
        "WITH record AS (
             INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                             operation_id, status, completed_at, expires_at, tombstone_until)
             SELECT 'acme', 'web-shop', 'POST', '/v1/orders', '00000000-0000-4000-8000-' || lpad(n::text, 12, '0'), sha256(''),
                    1, 'completed', gen_random_uuid(), 201, now() - interval '1 day', now() - interval '1 ms',
                    now() + interval '29 days'
               FROM generate_series(0, {KEYS} - 1) AS n
             RETURNING operation_id)
         INSERT INTO idempotency_snapshot (operation_id, headers, body) SELECT operation_id, '[]', '' FROM record"
    );
    change(&database, &fill).await;
    let [first, second, retry] = [patient(&database), patient(&database), patient(&database)];
    let erasing = async { tokio::join!(erase(&first), erase(&second)) };
    let retrying = async {
        for start in (0..KEYS).step_by(8) {
            let outcomes =
                join_all((start..start + 8).map(async |n| send(&retry, request(&key(n), "a")).await)).await;
            for outcome in outcomes {
                assert_eq!(outcome.unwrap(), Outcome::Expired);
            }
        }
    };
    let ((one, other), ()) = tokio::join!(erasing, retrying);
    // A pass skips rows that the other one has locked, and may end before they are gone.
    let total = one + other + erase(&database).await;
    let keys = i64::try_from(KEYS).unwrap();
    assert_eq!((total, rows(&database).await, effects(&database).await), (keys, (0, 0, keys), 0));
}
