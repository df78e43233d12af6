//! Several aggregates fail for the same reason: a few are parked, and then their partitions keep their place.

use std::iter::repeat_with;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use contracts::OrderId;
use contracts::events::OrderConfirmed;
use database::{Database, Error, Tx};
use diesel_async::SimpleAsyncConnection;
use envelope::{Message, Topics};
use inbox::{Consumer, HandlerError, InboxMetrics, RunnerSettings, no_locks};
use testkit::{Metrics, TestTopics, eventually};

use crate::common::{
    CONSUMER, Fix, Operator, TestRecord, confirmed, count, database, effects, parked, publish, record,
    run_with, settings, wait_until_done, wait_until_stopped,
};

/// One partition, so that the messages are applied in this order.
const SAME: &str = "the same partition";

/// Longer than three attempts of the tests take.
const HANDLER_LIMIT: Duration = Duration::from_secs(2);

fn limited(parking_limit: i64) -> RunnerSettings {
    RunnerSettings { parking_limit, ..settings() }
}

fn in_order(topics: &TestTopics, order: OrderId) -> TestRecord {
    record(topics, 1, &confirmed(order)).keyed(SAME)
}

async fn wait_until_parked(database: &Database, messages: usize) {
    eventually("parked messages", async || (parked(database).await.len() == messages).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_many_aggregates_fail_alike_a_few_are_parked_and_the_rest_waits_for_the_fix() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders: Vec<OrderId> = repeat_with(OrderId::generate).take(60).collect();
    let records: Vec<TestRecord> =
        orders.iter().map(|order| record(&topics, 1, &confirmed(*order))).collect();
    let mut partitions = publish(&topics, &records).await;
    partitions.sort_unstable();
    partitions.dedup();
    assert_eq!(i32::try_from(partitions.len()), Ok(Topics::PARTITIONS));
    let fix = Fix::default();
    let operator = Operator::new(&database, &topics, fix.consumer());
    let consumer = run_with(&database, &topics, fix.consumer(), limited(3));
    wait_until_stopped(&database, i64::from(Topics::PARTITIONS)).await;
    assert_eq!(parked(&database).await.len(), 3);
    assert_eq!(effects(&database).await, []);

    fix.come();
    wait_until_done(&topics).await;
    assert_eq!(parked(&database).await.len(), 3, "all others took effect without an operator");
    wait_until_stopped(&database, 0).await;
    operator.does("redrive --all").await;
    consumer.stop().await;
    let mut done: Vec<_> = effects(&database).await.into_iter().map(|(order, _)| order).collect();
    done.sort_unstable();
    let mut expected: Vec<_> = orders.iter().map(|order| order.uuid()).collect();
    expected.sort_unstable();
    assert_eq!(done, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_waits_parks_again_once_an_operator_discards() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders = [OrderId::generate(), OrderId::generate()];
    publish(&topics, &orders.map(|order| in_order(&topics, order))).await;
    let fix = Fix::default();
    let operator = Operator::new(&database, &topics, fix.consumer());
    let consumer = run_with(&database, &topics, fix.consumer(), limited(1));
    wait_until_stopped(&database, 1).await;
    let first = parked(&database).await;
    assert_eq!(first.iter().map(|row| row.aggregate_id).collect::<Vec<_>>(), [orders[0].uuid()]);

    operator.does(&format!("discard {}", first[0].message_id)).await;
    wait_until_done(&topics).await;
    let second = parked(&database).await;
    assert_eq!(second.iter().map(|row| row.aggregate_id).collect::<Vec<_>>(), [orders[1].uuid()]);
    consumer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_that_fail_for_different_reasons_are_all_parked() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let [unreadable, refused, waiting] = [(); 3].map(|()| OrderId::generate());
    let records = [
        in_order(&topics, unreadable).saying("{"),
        in_order(&topics, refused),
        in_order(&topics, waiting).saying("{"),
    ];
    publish(&topics, &records).await;
    let fix = Fix::default();
    let consumer = run_with(&database, &topics, fix.consumer(), limited(1));
    wait_until_parked(&database, 2).await;
    wait_until_stopped(&database, 1).await;
    assert!(parked(&database).await.iter().all(|row| row.aggregate_id != waiting.uuid()));
    consumer.stop().await;
}

/// The limit is for a time, so that an old parked message does not stop today's consumer.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_parked_long_ago_does_not_count() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders = [OrderId::generate(), OrderId::generate()];
    publish(&topics, &[in_order(&topics, orders[0])]).await;
    let fix = Fix::default();
    let consumer = run_with(&database, &topics, fix.consumer(), limited(1));
    wait_until_parked(&database, 1).await;
    change(&database, "UPDATE inbox_parked SET parked_at = parked_at - interval '1 hour'").await;
    publish(&topics, &[in_order(&topics, orders[1])]).await;
    wait_until_done(&topics).await;
    assert_eq!(parked(&database).await.len(), 2);
    consumer.stop().await;
}

/// Otherwise a defect that nobody repairs would move one more group of aggregates into `inbox_parked` every ten minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_waits_parks_nothing_because_time_passes() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders = [OrderId::generate(), OrderId::generate()];
    publish(&topics, &orders.map(|order| in_order(&topics, order))).await;
    let fix = Fix::default();
    let consumer = run_with(&database, &topics, fix.consumer(), limited(1));
    wait_until_stopped(&database, 1).await;

    // The partition waits for a second, and then the parked message is ten minutes old: the length of the window.
    change(&database, "UPDATE inbox_parked SET parked_at = clock_timestamp()").await;
    wait_for_an_attempt(&database, "1 second").await;
    change(&database, "UPDATE inbox_parked SET parked_at = clock_timestamp() - interval '10 minutes'").await;
    wait_for_an_attempt(&database, "10 minutes 300 milliseconds").await;
    assert_eq!(parked(&database).await.len(), 1);
    consumer.stop().await;
}

/// The partition waits with a message that has failed as often as is allowed. Then the database fails.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_parks_nothing_of_a_partition_that_waits() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders = [OrderId::generate(), OrderId::generate()];
    publish(&topics, &orders.map(|order| in_order(&topics, order))).await;
    let (outage, times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_away, counted) = (Arc::clone(&outage), Arc::clone(&times));
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |_: &mut Tx, _: &Message<OrderConfirmed>| {
            if !AtomicBool::load(&is_away, Ordering::SeqCst) {
                return Err(HandlerError::Refused("a bug".to_owned()));
            }
            AtomicUsize::fetch_add(&counted, 1, Ordering::SeqCst);
            Err(Error::Unavailable("the server is being restarted".to_owned()).into())
        });
    let settings = RunnerSettings { handler_limit: HANDLER_LIMIT, ..limited(1) };
    let runner = run_with(&database, &topics, consumer, settings);
    wait_until_stopped(&database, 1).await;
    // It has waited for longer than a handler may fail.
    let limit = format!("{} milliseconds", HANDLER_LIMIT.as_millis());
    wait_for_an_attempt(&database, &limit).await;
    outage.store(true, Ordering::SeqCst);
    eventually("a failure that has been dealt with", async || {
        let is_parked = parked(&database).await.len() > 1;
        (is_parked || times.load(Ordering::SeqCst) >= 2).then_some(())
    })
    .await;
    outage.store(false, Ordering::SeqCst);
    let parked = parked(&database).await;
    assert_eq!(
        parked.iter().map(|row| row.aggregate_id).collect::<Vec<_>>(),
        [orders[0].uuid()],
        "{parked:?}"
    );
    runner.stop().await;
}

/// Waits until the message of the waiting partition has failed again, this long after the other one was parked.
async fn wait_for_an_attempt(database: &Database, after: &str) {
    let is_over = format!(
        "SELECT count(*) AS count FROM inbox_parked WHERE clock_timestamp() > parked_at + interval '{after}'"
    );
    eventually(&format!("{after} since the parking"), async || {
        (count(database, &is_over).await == 1).then_some(())
    })
    .await;
    let failed = || Metrics::counted::<InboxMetrics>(database).count("inbox_failed_attempts_total");
    // The first one may have begun before.
    let before = failed();
    eventually("a further attempt", async || (failed() >= before + 2).then_some(())).await;
}

/// A lock of the test lets the transactions count parked aggregates, but not add one, until both are there.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_fail_at_the_same_instant_do_not_exceed_the_limit_together() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let records =
        ["one", "another"].map(|key| record(&topics, 1, &confirmed(OrderId::generate())).keyed(key));
    let partitions = publish(&topics, &records).await;
    assert_ne!(partitions[0], partitions[1]);
    let mut owner = database.owner().await;
    owner.batch_execute("BEGIN; LOCK TABLE inbox_parked IN SHARE MODE").await.unwrap();
    let fix = Fix::default();
    let consumer = run_with(&database, &topics, fix.consumer(), limited(1));
    let waiting = "SELECT count(*) AS count FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("both partitions about to park", async || {
        (count(&database, waiting).await == 2).then_some(())
    })
    .await;
    owner.batch_execute("COMMIT").await.unwrap();
    wait_until_stopped(&database, 1).await;
    assert_eq!(parked(&database).await.len(), 1);
    consumer.stop().await;
}

async fn change(database: &Database, sql: &str) {
    database.connection().await.unwrap().batch_execute(sql).await.unwrap();
}
