//! Row locks of two batches at the same time.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed};
use database::{Database, Tx};
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::Message;
use inbox::{Consumer, HandlerError, LockKeys, no_locks};
use testkit::{TestTopics, eventually};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::common::{
    CONSUMER, Operator, cancelled, confirmed, count, database, effects, parked, publish, record,
    record_effect, run, slow_pool, wait_until_done,
};

diesel::table! {
    shelf (n) {
        n -> BigInt,
        taken -> BigInt,
    }
}

const WAITING: &str = "SELECT count(*) AS count FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event_type = 'Lock'";
const DEADLOCKS: &str = "SELECT deadlocks AS count FROM pg_stat_database WHERE datname = current_database()";

/// Coordinates two batches.
struct Meeting {
    database: Database,
    taken: Mutex<usize>,
}

impl Meeting {
    fn taken(&self) -> usize {
        *self.taken.lock().unwrap()
    }

    /// Called by a batch that holds a lock. Returns when the other batch holds a lock, too, or waits
    /// for a lock.
    async fn take(&self) {
        *self.taken.lock().unwrap() += 1;
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.taken() < 2 && count(&self.database, WAITING).await == 0 {
            assert!(Instant::now() < deadline, "the other batch never came");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Locks and changes the shelf of the message's sequence, or the opposite shelf if the order is `falling`.
fn taking(meeting: &Arc<Meeting>, falling: OrderId) -> Consumer {
    let meeting = Arc::clone(meeting);
    Consumer::of(CONSUMER)
        .locking(lock_shelves)
        .on(
            move |m: &Message<OrderConfirmed>| one_shelf(shelf_of(falling, m.order, m.envelope.sequence)),
            async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
                let shelf = shelf::table.find(shelf_of(falling, m.order, m.envelope.sequence));
                diesel::update(shelf).set(shelf::taken.eq(shelf::taken + 1)).execute(tx).await?;
                meeting.take().await;
                Ok(())
            },
        )
        .ignoring::<OrderCancelled>()
}

/// The kind of lock key of a shelf.
const SHELF: &str = "shelf";

fn one_shelf(number: i64) -> LockKeys {
    LockKeys::of(SHELF, [Uuid::from_u64_pair(0, number.unsigned_abs())])
}

fn number_of(shelf: Uuid) -> i64 {
    shelf.as_u64_pair().1.try_into().unwrap()
}

fn shelf_of(falling: OrderId, order: OrderId, sequence: i64) -> i64 {
    if order == falling { 5 - sequence } else { sequence }
}

/// Two orders whose messages are in different partitions, so that two batches run at once.
async fn two_orders_apart(topics: &TestTopics) -> [OrderId; 2] {
    loop {
        let orders = [OrderId::generate(), OrderId::generate()];
        // These messages are ignored. They only show the partition of an order.
        let records = orders.map(|order| record(topics, 1, &cancelled(order)));
        if let [one, other] = publish(topics, &records).await[..]
            && one != other
        {
            return orders;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_batches_that_want_the_same_rows_in_opposite_order_do_not_deadlock() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let mut owner = database.owner().await;
    owner
        .batch_execute(
            "CREATE TABLE shelf (n bigint PRIMARY KEY, taken bigint NOT NULL); GRANT ALL ON shelf TO idem_service; \
             INSERT INTO shelf VALUES (2, 0), (3, 0)",
        )
        .await
        .unwrap();
    let orders = two_orders_apart(&topics).await;
    let meeting = Arc::new(Meeting { database: database.clone(), taken: Mutex::new(0) });
    let runner = run(&slow_pool(&database), &topics, taking(&meeting, orders[1]));
    wait_until_done(&topics).await; // the ignored messages of both partitions
    for order in orders {
        // Batches that arrive together share a transaction, so the second one arrives while the first one waits.
        publish(&topics, &[2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)))).await;
        eventually("a batch that holds a lock", async || (meeting.taken() > 0).then_some(())).await;
    }
    wait_until_done(&topics).await;
    runner.stop().await;

    assert_eq!(count(&database, "SELECT sum(taken)::bigint AS count FROM shelf").await, 4);
    assert_eq!(meeting.taken(), 4, "a batch was rolled back and run again");
    assert_eq!(count(&database, DEADLOCKS).await, 0);
}

/// While the second message is applied and has found no held message, another batch finds that the third one is early.
/// The row of the aggregate exists already, so no batch waits for its insert.
#[tokio::test(flavor = "multi_thread")]
async fn two_messages_of_one_aggregate_in_two_batches_do_not_miss_each_other() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let [order, other] = two_orders_apart(&topics).await;
    let aggregate = OrderId::generate();
    let third_is_there = database.clone();
    let second_is_applied = Arc::new(Notify::new());
    let applying = Arc::clone(&second_is_applied);
    let consumer = Consumer::of(CONSUMER).ignoring::<OrderCancelled>().on(
        no_locks,
        async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            let deadline = Instant::now() + Duration::from_secs(30);
            if m.envelope.sequence == 2 {
                applying.notify_one();
            }
            while m.envelope.sequence == 2
                && count(&third_is_there, WAITING).await == 0
                && parked(&third_is_there).await.is_empty()
            {
                assert!(Instant::now() < deadline, "the third message never came");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            record_effect(tx, "one", m).await
        },
    );
    let runner = run(&slow_pool(&database), &topics, consumer);
    publish(&topics, &[record(&topics, 1, &confirmed(aggregate))]).await;
    wait_until_done(&topics).await;
    let [second, third] = [(2, order), (3, other)]
        .map(|(sequence, at)| record(&topics, sequence, &confirmed(aggregate)).keyed(&at.to_string()));
    publish(&topics, &[second]).await;
    second_is_applied.notified().await;
    publish(&topics, &[third]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2, 3].map(|sequence| (aggregate.uuid(), sequence)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_held_messages_are_locked_with_the_batch_that_frees_them() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let asked: Arc<Mutex<Vec<Vec<i64>>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let consumer = Consumer::of(CONSUMER)
        .on(
            |m: &Message<OrderConfirmed>| one_shelf(m.envelope.sequence),
            async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await,
        )
        .locking(async move |_: &Tx, keys: &mut LockKeys| {
            noted.lock().unwrap().push(keys.take(SHELF).into_iter().map(number_of).collect());
            Ok(())
        });
    let runner = run(&database, &topics, consumer);
    for sequence in [2, 3, 5, 1] {
        publish(&topics, &[record(&topics, sequence, &confirmed(order))]).await;
        wait_until_done(&topics).await;
    }
    runner.stop().await;
    assert_eq!(*asked.lock().unwrap(), [vec![1, 2, 3]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_locks_cannot_be_taken_is_parked() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let [odd, fine] = [OrderId::generate(), OrderId::generate()];
    let consumer = Consumer::of(CONSUMER)
        .on(
            |m: &Message<OrderConfirmed>| LockKeys::of("order", [m.order.uuid()]),
            async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await,
        )
        .locking(async move |_: &Tx, keys: &mut LockKeys| {
            assert!(!keys.take("order").contains(&odd.uuid()), "a bug in the service");
            Ok(())
        });
    publish(&topics, &[odd, fine].map(|order| record(&topics, 1, &confirmed(order)).keyed("one partition")))
        .await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(fine.uuid(), 1)]);
    assert_eq!(parked(&database).await.len(), 1);
}

/// Returns the rows of `shelf` that no other transaction has locked.
const FREE: &str =
    "SELECT count(*) AS count FROM (SELECT n FROM shelf WHERE n = 1 FOR UPDATE SKIP LOCKED) AS free";

/// Handles an order only while another transaction cannot lock its shelf.
fn careful(database: &Database) -> Consumer {
    let database = database.clone();
    Consumer::of(CONSUMER).on(
        |_: &Message<OrderConfirmed>| one_shelf(1),
        async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            if count(&database, FREE).await > 0 {
                return Err(HandlerError::Refused("its shelf is not locked".to_owned()));
            }
            record_effect(tx, "one", m).await
        },
    )
}

async fn lock_shelves(mut tx: &Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    let shelves: Vec<i64> = keys.take(SHELF).into_iter().map(number_of).collect();
    let rows = shelf::table.filter(shelf::n.eq_any(shelves)).order(shelf::n).for_update();
    rows.select(shelf::n).execute(&mut tx).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_that_a_handler_names_are_locked_before_it_runs() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let mut owner = database.owner().await;
    owner
        .batch_execute(
            "CREATE TABLE shelf (n bigint PRIMARY KEY); GRANT ALL ON shelf TO idem_service; INSERT INTO shelf VALUES (1)",
        )
        .await
        .unwrap();
    let order = OrderId::generate();
    // Without a lock function nothing runs that names a row; a redrive locks the rows as the consumer does.
    let runner = run(&database, &topics, careful(&database));
    publish(&topics, &[record(&topics, 1, &confirmed(order)), record(&topics, 2, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    let errors: Vec<_> = parked(&database).await.into_iter().filter_map(|row| row.error).collect();
    assert_eq!(errors, ["consumer inventory does not lock rows of kind shelf"]);

    let consumer = careful(&database).locking(lock_shelves);
    let (done, report) = Operator::new(&database, &topics, consumer.clone()).does("redrive --all").await;
    assert!(done, "{report:#}");
    let runner = run(&database, &topics, consumer);
    publish(&topics, &[record(&topics, 3, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2, 3].map(|sequence| (order.uuid(), sequence)));
}
