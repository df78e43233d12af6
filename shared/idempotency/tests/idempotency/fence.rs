//! A fenced key shows the commands that were executed under it, and no other is executed.

use database::{AppendTx, Database, GroupSettings};
use diesel_async::SimpleAsyncConnection;
use idempotency::{
    CommandError, GroupExecutor, Key, KeyPolicy, KeyRecords, KeyScope, KeyedRequest, Operation, Outcome,
    RecordState, Retention, StoredResponse, erase_expired_keys, fence_key, records_of,
};
use testkit::eventually;
use tokio_util::sync::CancellationToken;

use crate::shop::{self, CommandBarrier, KEY, caller, effects, records, request, request_in, send};

fn key(text: &str) -> Key {
    Key::parse(text.as_bytes(), KeyPolicy::Uuid).unwrap()
}

/// Fences a key of the web shop. `None` if a command with the key runs.
pub(crate) async fn fence(database: &Database, text: &str) -> Option<KeyRecords> {
    let (owner, key) = (caller("acme", "web-shop"), key(text));
    if !fence_key(database, &owner, &key).await.unwrap() {
        return None;
    }
    let mut connection = database.connection().await.unwrap();
    let known = records_of(&mut connection, &owner, &key).await.unwrap();
    assert!(known.fenced_at.is_some());
    Some(known)
}

fn states(known: &KeyRecords) -> Vec<(&str, RecordState)> {
    known.data.iter().map(|record| (record.route.as_str(), record.state)).collect()
}

fn elsewhere(text: &str) -> KeyedRequest {
    let scope = KeyScope { route: "/v1/returns".into(), ..request(text, "a").scope };
    request_in(scope, text, "a")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_key_was_fenced_is_never_executed() {
    let database = shop::open().await;
    assert_eq!(states(&fence(&database, KEY).await.unwrap()), []);
    let groups = GroupExecutor::new(database.clone(), Retention::default(), GroupSettings::default());
    let append = async |_: &mut AppendTx, _: &Operation| -> Result<StoredResponse, CommandError> {
        panic!("the command was executed")
    };
    for command in [request(KEY, "a"), request(KEY, "b"), elsewhere(KEY)] {
        assert_eq!(send(&database, command.clone()).await.unwrap(), Outcome::Fenced);
        let outcome = groups.execute(command, append).await;
        assert_eq!(outcome.unwrap(), Outcome::Fenced);
    }
    assert_eq!((effects(&database).await, records(&database).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_tells_what_was_executed_and_its_retry_is_replayed() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    let told = fence(&database, KEY).await.unwrap();
    assert_eq!(states(&told), [("/v1/orders", RecordState::Completed)]);
    // An instance that has nothing in memory.
    let other = database.second_instance();
    assert!(matches!(send(&other, request(KEY, "a")).await.unwrap(), Outcome::Replayed { .. }));
    assert_eq!(send(&other, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    // What was not executed on another route never is.
    assert_eq!(send(&other, elsewhere(KEY)).await.unwrap(), Outcome::Fenced);
    assert_eq!(fence(&other, KEY).await.unwrap(), told, "the first time counts");
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_holds_for_its_own_caller_and_key_only() {
    let database = shop::open().await;
    fence(&database, KEY).await.unwrap();
    let first = request(KEY, "a");
    for other in [caller("acme", "till"), caller("rival", "web-shop")] {
        let scope = KeyScope { caller: other, ..first.scope.clone() };
        assert!(matches!(send(&database, request_in(scope, KEY, "a")).await.unwrap(), Outcome::Executed(_)));
    }
    let another = request("00000000-0000-4000-8000-000000000001", "a");
    assert!(matches!(send(&database, another).await.unwrap(), Outcome::Executed(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_command_runs_is_fenced_only_after_its_end() {
    let database = shop::open().await;
    let barrier = CommandBarrier::closed();
    let (executed, ()) = tokio::join!(barrier.send(&database, request(KEY, "a")), async {
        barrier.reached().await;
        assert_eq!(fence(&database, KEY).await, None);
        // The lock belongs to the key on all routes.
        assert_eq!(send(&database, elsewhere(KEY)).await.unwrap(), Outcome::InProgress);
        barrier.open();
    });
    assert!(matches!(executed.unwrap(), Outcome::Executed(_)));
    let told = fence(&database, KEY).await.unwrap();
    assert_eq!(states(&told), [("/v1/orders", RecordState::Completed)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_command_and_a_fence_at_once_the_fence_tells_what_the_command_did() {
    let database = shop::open().await;
    let [sender, fencer] = [database.second_instance(), database.second_instance()];
    let mut executed = 0;
    for round in 0..200 {
        let text = format!("00000000-0000-4000-8000-{round:012}");
        let (outcome, told) = tokio::join!(
            eventually("the command is decided", async || {
                let outcome = send(&sender, request(&text, "a")).await.unwrap();
                (outcome != Outcome::InProgress).then_some(outcome)
            }),
            eventually("the key is fenced", async || fence(&fencer, &text).await),
        );
        match outcome {
            Outcome::Executed(_) => {
                executed += 1;
                assert_eq!(states(&told), [("/v1/orders", RecordState::Completed)], "{round}");
            }
            Outcome::Fenced => assert_eq!(states(&told), [], "{round}"),
            outcome => panic!("{round}: {outcome:?}"),
        }
    }
    assert!((1..200).contains(&executed), "{executed} of 200 commands came first");
    assert_eq!(effects(&database).await, executed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fence_outlives_the_record_of_its_key() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    fence(&database, KEY).await.unwrap();
    let mut owner = database.owner().await;
    owner.batch_execute("UPDATE idempotency_record SET expires_at = clock_timestamp()").await.unwrap();
    assert_eq!(erase_expired_keys(&database, &CancellationToken::new()).await.unwrap(), 1);
    let told = fence(&database, KEY).await.unwrap();
    assert_eq!(states(&told), [("/v1/orders", RecordState::Expired)]);
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    // Thirty days later.
    owner.batch_execute("DELETE FROM idempotency_tombstone").await.unwrap();
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Fenced);
    assert_eq!(effects(&database).await, 1);
}
