//! Each request with a key is counted once, by its outcome.

use std::time::Duration;

use database::{AppendTx, Error, GroupSettings, Tx};
use diesel_async::SimpleAsyncConnection;
use idempotency::{
    CommandError, GroupExecutor, IdempotencyMetrics, Operation, Outcome, Retention, StoredResponse,
};
use testkit::{Metrics, eventually, labelled};

use crate::shop::{self, CommandBarrier, KEY, request, response, send};

const OTHER: &str = "8e03978e-40d5-43e8-bc93-6894a57f9325";

/// The outcomes that were counted, with their numbers.
fn counted(database: &database::Database) -> Vec<(String, i64)> {
    Metrics::counted::<IdempotencyMetrics>(database).by_label("idempotency_requests_total")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_with_a_key_is_counted_as_what_it_was_and_as_nothing_else() {
    let database = shop::open().await;
    assert_eq!(counted(&database), []);
    send(&database, request(KEY, "a")).await.unwrap();
    assert_eq!(counted(&database), labelled(&[("executed", 1)]));
    send(&database, request(KEY, "a")).await.unwrap();
    assert_eq!(counted(&database), labelled(&[("executed", 1), ("replayed", 1)]));
    send(&database, request(KEY, "b")).await.unwrap();
    assert_eq!(counted(&database), labelled(&[("executed", 1), ("replayed", 1), ("reused", 1)]));

    let barrier = CommandBarrier::closed();
    let first = barrier.send(&database, request(OTHER, "a"));
    let second = async {
        barrier.reached().await;
        assert_eq!(send(&database, request(OTHER, "a")).await.unwrap(), Outcome::InProgress);
        let so_far = [("executed", 1), ("in_progress", 1), ("replayed", 1), ("reused", 1)];
        assert_eq!(counted(&database), labelled(&so_far));
        barrier.open();
    };
    let (first, ()) = tokio::join!(first, second);
    assert!(matches!(first.unwrap(), Outcome::Executed(_)));

    let expire = "UPDATE idempotency_record SET expires_at = clock_timestamp() - interval '1 ms'";
    database.owner().await.batch_execute(expire).await.unwrap();
    assert_eq!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Expired);
    let all = [("executed", 2), ("expired", 1), ("in_progress", 1), ("replayed", 1), ("reused", 1)];
    assert_eq!(counted(&database), labelled(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_and_an_error_are_counted_apart_from_a_stored_rejection() {
    let database = shop::open().await;
    let refused = async |_: &mut Tx, _: &Operation| -> Result<StoredResponse, CommandError> {
        Err(CommandError::Refused(response(403, "not for you")))
    };
    idempotency::execute(&database, Retention::default(), request(KEY, "a"), refused).await.unwrap();
    assert_eq!(counted(&database), labelled(&[("refused", 1)]));
    let failed = async |_: &mut Tx, _: &Operation| -> Result<StoredResponse, CommandError> {
        Err(Error::Unavailable("the test says so".to_owned()).into())
    };
    idempotency::execute(&database, Retention::default(), request(KEY, "a"), failed).await.unwrap_err();
    assert_eq!(counted(&database), labelled(&[("failed", 1), ("refused", 1)]));
    let rejected = async |_: &mut Tx, _: &Operation| -> Result<StoredResponse, CommandError> {
        Err(CommandError::Rejected(response(422, "no")))
    };
    idempotency::execute(&database, Retention::default(), request(KEY, "a"), rejected).await.unwrap();
    assert_eq!(counted(&database), labelled(&[("executed", 1), ("failed", 1), ("refused", 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_group_are_counted_one_by_one_and_a_full_queue_as_failures() {
    let database = shop::open().await;
    let settings = GroupSettings {
        size: 8,
        at_once: 1,
        waiting: 2,
        wait: Duration::from_mins(1),
        ..GroupSettings::default()
    };
    let groups = GroupExecutor::new(database.clone(), Retention::default(), settings);
    let (key, barrier) =
        (|number: usize| format!("00000000-0000-4000-8000-{number:012}"), CommandBarrier::closed());
    let command = async |_: &mut AppendTx, _: &Operation| -> Result<StoredResponse, CommandError> {
        Ok(response(201, "done"))
    };
    // The first command is a group of its own; the next two wait together, and for the fourth there is no room.
    let holding = barrier.hold(&groups, request(&key(0), "a"));
    let others = async {
        barrier.reached().await;
        let waiting = [1, 2].map(|number| groups.execute(request(&key(number), "a"), command));
        let refused = async {
            let full = groups.execute(request(&key(3), "a"), command).await;
            assert!(matches!(full, Err(Error::Unavailable(_))), "{full:?}");
            assert_eq!(counted(&database), labelled(&[("failed", 1)]));
            barrier.open();
        };
        let [first, second] = waiting;
        let (first, second, ()) = tokio::join!(biased; first, second, refused);
        assert!(matches!((first.unwrap(), second.unwrap()), (Outcome::Executed(_), Outcome::Executed(_))));
    };
    let (held, ()) = tokio::join!(holding, others);
    assert!(matches!(held.unwrap(), Outcome::Refused(_)));
    assert_eq!(counted(&database), labelled(&[("executed", 2), ("failed", 1), ("refused", 1)]));
    let metrics = Metrics::counted::<IdempotencyMetrics>(&database);
    assert_eq!(metrics.count("idempotency_group_commands_count"), 2);
    assert_eq!(metrics.count("idempotency_group_commands_sum"), 3);
    assert_eq!(metrics.count("idempotency_group_wait_seconds_count"), 3);
    // An outcome is delivered before its transaction's time is known.
    eventually("two transactions", async || {
        let metrics = Metrics::counted::<IdempotencyMetrics>(&database);
        (metrics.count("idempotency_transaction_duration_seconds_count") == 2).then_some(())
    })
    .await;
}
