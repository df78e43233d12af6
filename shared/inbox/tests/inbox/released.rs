//! A message releases held ones, and one of them fails: each error is that of the message that caused it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced};
use database::{Buffered, InsertRows, Tx, UnitOfWork, Write};
use diesel_async::SimpleAsyncConnection;
use envelope::Message;
use inbox::{Consumer, LockKeys, no_locks};
use serde_json::json;
use testkit::{TestDatabase, TestTopics};

use crate::common::{
    CONSUMER, Operator, cancelled, confirmed, database, effects, parked, placed, publish, record,
    record_effect, run, wait_until_done,
};

diesel::table! {
    claim (number) {
        number -> BigInt,
    }
}

/// A row that the handler buffers and the transaction writes.
struct Claim(i64);

impl Buffered for Claim {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        vec![Write::new(InsertRows::new(claim::table, rows).column(claim::number, |row| row.0))]
    }
}

/// Claims the number of each message. A rule of the table refuses the numbers 3 and 4. The rows of cancelled orders cannot be
/// locked.
fn claiming() -> Consumer {
    Consumer::of(CONSUMER)
        .locking(async |_: &Tx, keys: &mut LockKeys| {
            keys.take("order");
            Ok(())
        })
        .on(
            |m: &Message<OrderConfirmed>| LockKeys::of("order", [m.order.uuid()]),
            async |tx: &mut Tx, m: &Message<OrderConfirmed>| {
                tx.buffer(Claim(m.envelope.sequence));
                record_effect(tx, "one", m).await
            },
        )
        .on(
            |m: &Message<OrderCancelled>| LockKeys::of("cancellation", [m.order.uuid()]),
            async |tx: &mut Tx, m: &Message<OrderCancelled>| record_effect(tx, "one", m).await,
        )
}

async fn claims() -> (TestDatabase, TestTopics) {
    let (database, topics) = (database().await, TestTopics::create().await);
    let sql = "CREATE TABLE claim (number bigint NOT NULL CHECK (number NOT IN (3, 4))); GRANT ALL ON claim TO idem_service";
    database.owner().await.batch_execute(sql).await.unwrap();
    (database, topics)
}

async fn states(database: &TestDatabase) -> Vec<(i64, String)> {
    parked(database).await.into_iter().map(|row| (row.sequence, row.state)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_whose_rows_are_refused_is_parked_itself() {
    let (database, topics) = claims().await;
    let order = OrderId::generate();
    let runner = run(&database, &topics, claiming());
    for number in [4, 3, 2, 1] {
        publish(&topics, &[record(&topics, number, &confirmed(order))]).await;
        wait_until_done(&topics).await;
    }
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|number| (order.uuid(), number)));
    assert_eq!(states(&database).await, [(3, "parked".to_owned()), (4, "held".to_owned())]);
    let error = parked(&database).await[0].error.clone().unwrap();
    assert!(error.contains("claim_number_check"), "{error}");

    let operator = Operator::new(&database, &topics, claiming());
    let allow =
        "ALTER TABLE claim DROP CONSTRAINT claim_number_check; ALTER TABLE claim ADD CHECK (number <> 4)";
    database.owner().await.batch_execute(allow).await.unwrap();
    let (done, report) = operator.does("redrive --all").await;
    let failed = &report["aggregates"][0]["failed"];
    assert!(!done && failed["message"]["sequence"] == json!(4), "{report:#}");
    assert!(failed["error"].as_str().unwrap().contains("claim_number_check"), "{report:#}");
    assert_eq!(effects(&database).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_whose_locks_cannot_be_taken_is_parked_itself() {
    let (database, topics) = claims().await;
    let order = OrderId::generate();
    let runner = run(&database, &topics, claiming());
    publish(&topics, &[record(&topics, 2, &cancelled(order))]).await;
    wait_until_done(&topics).await;
    publish(&topics, &[record(&topics, 1, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1)]);
    assert_eq!(states(&database).await, [(2, "parked".to_owned())]);
}

/// Each of the two messages needs one attempt less than is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_has_attempts_of_its_own() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let failures = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let [first, second] = [Arc::clone(&failures), failures];
    let consumer = Consumer::of(CONSUMER)
        .on(no_locks, async move |tx: &mut Tx, m: &Message<OrderPlaced>| {
            record_effect(tx, "one", m).await?;
            not_yet(&first[0]);
            Ok(())
        })
        .on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            record_effect(tx, "one", m).await?;
            not_yet(&second[1]);
            Ok(())
        });
    let runner = run(&database, &topics, consumer);
    publish(&topics, &[record(&topics, 2, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    publish(&topics, &[record(&topics, 1, &placed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|number| (order.uuid(), number)));
    assert_eq!(states(&database).await, []);
}

/// Panics twice: the third attempt is the last one.
fn not_yet(failures: &AtomicUsize) {
    assert!(failures.fetch_add(1, Ordering::SeqCst) >= 2, "not yet");
}
