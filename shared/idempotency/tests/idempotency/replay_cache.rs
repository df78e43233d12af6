//! Replays from memory: the same outcomes as from the database, and none after an erasure.
//!
//! Tests that move the clock run on one thread, because only such a runtime has a clock that can be moved.

use std::time::Duration;

use chrono::TimeDelta;
use database::{AppendTx, Database, Error, GroupSettings, Settings, Tx};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::Caller;
use idempotency::{
    CommandError, GroupExecutor, IdempotencyMetrics, KeyScope, KeyedRequest, Operation, Outcome, ReplayCache,
    ResponsesOf, Retention, StoredResponse, WaitPolicy, expire_responses,
};
use testkit::{Metrics, Proxy, RoundTrips, TestDatabase, labelled};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::shop::{self, KEY, Number, caller, effects, request, request_in, response, send};

/// Enough for every response of a test.
const BYTES: u64 = 1 << 20;

/// The numbers of hits and misses.
pub(crate) fn lookups(database: &Database) -> Vec<(String, i64)> {
    Metrics::counted::<IdempotencyMetrics>(database).by_label("idempotency_replay_cache_lookups_total")
}

/// Lets the database keep responses in memory from now on.
pub(crate) async fn remember(database: &Database) {
    database.attached::<ReplayCache>().open(BYTES);
    ReplayCache::confirm(database).await.unwrap();
}

/// A database whose responses are kept in memory.
async fn open() -> TestDatabase {
    let database = shop::open().await;
    remember(&database).await;
    database
}

async fn change(database: &TestDatabase, statements: &str) {
    database.owner().await.batch_execute(statements).await.unwrap();
}

/// Moves the clock of this process forward.
async fn advance(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn replayed(outcome: Result<Outcome, Error>) -> StoredResponse {
    let Ok(Outcome::Replayed { response, .. }) = outcome else { panic!("{outcome:?}") };
    response
}

/// The three executors of requests with a key.
#[derive(Clone, Copy, Debug)]
enum Executor {
    Alone,
    Group,
    Phased,
}

impl Executor {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Alone, "00000000-0000-4000-8000-000000000001"),
        (Self::Group, "00000000-0000-4000-8000-000000000002"),
        (Self::Phased, "00000000-0000-4000-8000-000000000003"),
    ];

    async fn send(self, database: &Database, request: KeyedRequest) -> Result<Outcome, Error> {
        let retention = Retention::default();
        match self {
            Self::Alone => idempotency::execute(database, retention, request, shop::order).await,
            Self::Group => {
                let command = async |_: &mut AppendTx, operation: &Operation| {
                    Ok(response(201, &operation.id.to_string()))
                };
                let groups = GroupExecutor::new(database.clone(), retention, GroupSettings::default());
                GroupExecutor::execute(&groups, request, command).await
            }
            Self::Phased => {
                let begin = async |_: &mut Tx, operation: &Operation| -> Result<(), CommandError> {
                    Err(CommandError::Rejected(response(422, &operation.id.to_string())))
                };
                let policy = WaitPolicy { limit: Duration::ZERO, accepted: |_| response(202, "") };
                idempotency::start(database, retention, policy, request, begin, begin).await
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_from_memory_is_that_of_the_database_without_a_round_trip() {
    let counter = RoundTrips::to_postgres().await;
    let database = shop::open().await;
    let distant =
        Database::new(&Settings::new(database.service_url(Some(counter.address()))), Handle::current())
            .unwrap();
    remember(&distant).await;
    for (executor, key) in Executor::ALL {
        executor.send(&distant, request(key, "a")).await.unwrap();
        let (again, round_trips) = counter.of(executor.send(&distant, request(key, "a"))).await;
        let from_database = executor.send(&database, request(key, "a")).await;
        assert_eq!(again.unwrap(), from_database.unwrap(), "{executor:?}");
        assert_eq!(round_trips, 0, "{executor:?}");
        // Another request with the key is refused from memory, too.
        let (other, round_trips) = counter.of(executor.send(&distant, request(key, "b"))).await;
        assert_eq!((other.unwrap(), round_trips), (Outcome::Reused, 0), "{executor:?}");
    }
    assert_eq!(lookups(&distant), labelled(&[("hit", 6), ("miss", 3)]));
    assert_eq!(lookups(&database), [], "this handle of the database keeps nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_has_stored_is_in_memory_after_its_first_replay() {
    let database = open().await;
    for (executor, key) in Executor::ALL {
        executor.send(&database.second_instance(), request(key, "a")).await.unwrap();
        let first = replayed(executor.send(&database, request(key, "a")).await);
        assert_eq!(replayed(executor.send(&database, request(key, "a")).await), first, "{executor:?}");
    }
    assert_eq!(lookups(&database), labelled(&[("hit", 3), ("miss", 3)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_memory_is_new_in_every_other_scope() {
    let database = open().await;
    let scope = |caller: Caller, method: &str, route: &str| KeyScope {
        caller,
        method: method.to_owned(),
        route: route.to_owned(),
    };
    let scopes = [
        scope(caller("acme", "web-shop"), "POST", "/v1/orders"),
        scope(caller("globex", "web-shop"), "POST", "/v1/orders"),
        scope(caller("acme", "call-centre"), "POST", "/v1/orders"),
        scope(caller("acme", "web-shop"), "PATCH", "/v1/orders"),
        scope(caller("acme", "web-shop"), "POST", "/v1/orders/{id}/cancel"),
        // The same letters, divided differently between tenant and client.
        scope(caller("acm", "eweb-shop"), "POST", "/v1/orders"),
    ];
    for scope in &scopes {
        let first = send(&database, request_in(scope.clone(), KEY, "a")).await.unwrap();
        assert!(matches!(first, Outcome::Executed(_)), "{scope:?}: {first:?}");
    }
    for scope in &scopes {
        replayed(send(&database, request_in(scope.clone(), KEY, "a")).await);
    }
    assert_eq!(lookups(&database), labelled(&[("hit", 6), ("miss", 6)]));
    assert_eq!(effects(&database).await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_response_is_not_replayed_once_the_revision_is_confirmed() {
    let of_tenant = async |database: &TestDatabase| {
        let mut tx = database.begin().await.unwrap();
        let tenant = caller("acme", "web-shop").tenant;
        assert_eq!(expire_responses(&mut tx, ResponsesOf::Tenant(&tenant)).await.unwrap(), 1);
        tx.commit().await.unwrap();
    };
    let database = open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    of_tenant(&database).await;
    // Until then the process cannot know of the erasure.
    replayed(send(&database, request(KEY, "a")).await);
    ReplayCache::confirm(&database).await.unwrap();
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);

    // By hand: an early expiry, and a removal, which frees the key.
    for (by_hand, then) in [
        ("UPDATE idempotency_record SET expires_at = clock_timestamp()", "expired"),
        ("DELETE FROM idempotency_record", "executed"),
    ] {
        let database = open().await;
        send(&database, request(KEY, "a")).await.unwrap();
        change(&database, by_hand).await;
        ReplayCache::confirm(&database).await.unwrap();
        let outcome = send(&database, request(KEY, "a")).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Expired), then == "expired", "{outcome:?}");
        assert_eq!(matches!(outcome, Outcome::Executed(_)), then == "executed", "{outcome:?}");
    }
}

#[tokio::test]
async fn without_a_confirmation_for_ten_seconds_the_database_answers() {
    let database = open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    change(&database, "UPDATE idempotency_record SET expires_at = clock_timestamp()").await;
    advance(ReplayCache::CONFIRMED_FOR).await;
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
}

#[tokio::test]
async fn a_response_in_memory_expires_with_its_record() {
    let database = open().await;
    let short = Retention { reply: TimeDelta::seconds(5), ..Retention::default() };
    idempotency::execute(&database, short, request(KEY, "a"), shop::order).await.unwrap();
    replayed(send(&database, request(KEY, "a")).await);
    assert_eq!(lookups(&database), labelled(&[("hit", 1), ("miss", 1)]));
    advance(Duration::from_secs(5)).await;
    // The clock of the database has not moved, so it still replays the response.
    replayed(send(&database, request(KEY, "a")).await);
    assert_eq!(lookups(&database), labelled(&[("hit", 1), ("miss", 2)]));
}

#[tokio::test]
async fn with_the_database_away_replays_come_from_memory_while_the_revision_is_confirmed() {
    let proxy = Proxy::to_postgres().await;
    let database = shop::open().await;
    let settings = Settings::new(database.service_url(Some(proxy.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    remember(&distant).await;
    let Outcome::Executed(first) = send(&distant, request(KEY, "a")).await.unwrap() else {
        panic!("not executed")
    };
    proxy.cut().await;
    assert_eq!(replayed(send(&distant, request(KEY, "a")).await), first);
    assert_eq!(send(&distant, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    assert!(ReplayCache::confirm(&distant).await.is_err());
    let new = request("00000000-0000-4000-8000-000000000000", "a");
    assert!(matches!(send(&distant, new).await, Err(Error::Unavailable(_))));
    advance(ReplayCache::CONFIRMED_FOR).await;
    assert!(matches!(send(&distant, request(KEY, "a")).await, Err(Error::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_replay_comes_from_memory_before_the_first_confirmation_or_without_memory() {
    for bytes in [BYTES, 0] {
        let database = shop::open().await;
        database.attached::<ReplayCache>().open(bytes);
        if bytes == 0 {
            ReplayCache::confirm(&database).await.unwrap();
        }
        for _ in 0..2 {
            send(&database, request(KEY, "a")).await.unwrap();
        }
        let counted = if bytes == 0 { Vec::new() } else { labelled(&[("miss", 2)]) };
        assert_eq!(lookups(&database), counted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_of_another_server_is_not_replayed_from_memory() {
    let database = open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    // As after a restore: the record is lost, no transaction of this server has removed it, and the server has another name.
    change(
        &database,
        "ALTER TABLE idempotency_record DISABLE TRIGGER idempotency_record_taken_back; DELETE FROM idempotency_record; \
         CREATE OR REPLACE FUNCTION outbox_server() RETURNS text LANGUAGE sql AS $$ SELECT 'promoted' $$",
    )
    .await;
    ReplayCache::confirm(&database).await.unwrap();
    assert!(matches!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Executed(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_taking_a_response_back_raises_the_revision_and_once_in_a_transaction() {
    let database = shop::open().await;
    let raised_by = async || {
        let query = "SELECT raised_by AS number FROM idempotency_epoch";
        let mut connection = database.connection().await.unwrap();
        diesel::sql_query(query).get_result::<Number>(&mut connection).await.unwrap().number
    };
    for (executor, key) in Executor::ALL {
        executor.send(&database, request(key, "a")).await.unwrap();
    }
    let past = Retention { reply: TimeDelta::zero(), ..Retention::default() };
    idempotency::execute(&database, past, request(KEY, "a"), shop::order).await.unwrap();
    assert_eq!(idempotency::erase_expired_keys(&database, &CancellationToken::new()).await.unwrap(), 1);
    assert_eq!(raised_by().await, 0, "neither commands nor the move to the tombstones");

    let versions = "SELECT pg_stat_get_xact_tuples_updated('idempotency_epoch'::regclass) AS number";
    let mut tx = database.begin().await.unwrap();
    let tenant = caller("acme", "web-shop").tenant;
    assert_eq!(expire_responses(&mut tx, ResponsesOf::Tenant(&tenant)).await.unwrap(), 3);
    let written: Number = diesel::sql_query(versions).get_result(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(written.number, 1);
    assert_ne!(raised_by().await, 0);
}
