//! The round trips of a batch, and the messages that share one.

use std::time::Duration;

use contracts::OrderId;
use contracts::events::OrderConfirmed;
use database::{Database, Settings, Tx};
use diesel::select;
use diesel_async::RunQueryDsl;
use envelope::Message;
use inbox::{Consumer, HandlerError, InboxMetrics, LockKeys, RunnerSettings};
use testkit::{Metrics, RoundTrips, TestTopics, eventually};
use tokio::runtime::Handle;

use crate::common::{
    CONSUMER, TestRecord, cancelled, confirmed, count, database, effects, publish, record, recording, run,
    run_with, settings, wait_until_done,
};

/// BEGIN with the sequences' locks, known ids and held messages; the handlers' rows; ids and sequences, with COMMIT.
const OF_A_TRANSACTION: i64 = 3;

/// Its lock function has one statement. The inbox buffers what it writes, and the handler writes nothing of its own.
fn consumer() -> Consumer {
    Consumer::of(CONSUMER)
        .locking(async |mut tx: &Tx, keys: &mut LockKeys| {
            keys.take("order");
            select(database::functions::clock_timestamp()).execute(&mut tx).await?;
            Ok::<(), HandlerError>(())
        })
        .on(
            |m: &Message<OrderConfirmed>| LockKeys::of("order", [m.order.uuid()]),
            async |_: &mut Tx, _: &Message<OrderConfirmed>| Ok(()),
        )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_any_number_of_messages_takes_three_round_trips() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let counter = RoundTrips::to_postgres().await;
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(Some(counter.address()))) };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let runner = run(&distant, &topics, consumer());
    let mut counts = Vec::new();
    // The first transactions connect and prepare statements.
    for messages in [1, 20, 1, 20, 20, 20] {
        let before = transactions(&database).await;
        let orders = (0..messages).map(|_| OrderId::generate());
        let records: Vec<_> =
            orders.map(|order| record(&topics, 1, &confirmed(order)).keyed("one partition")).collect();
        let ((), round_trips) = counter
            .of(async {
                publish(&topics, &records).await;
                wait_until_done(&topics).await;
            })
            .await;
        counts.push((i64::try_from(round_trips).unwrap(), transactions(&database).await - before));
    }
    runner.stop().await;
    let fewest =
        counts.iter().map(|(round_trips, transactions)| round_trips - OF_A_TRANSACTION * transactions);
    assert_eq!(fewest.min(), Some(0), "round trips, transactions: {counts:?}");
    assert!(counts.iter().all(|(_, transactions)| *transactions < 20), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_message_shares_the_transaction_of_the_next_one_in_its_partition() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let settings = RunnerSettings { ignored_wait: Duration::from_hours(1), ..settings() };
    let runner = run_with(&database, &topics, recording("one"), settings);
    let (first, order) = (OrderId::generate(), OrderId::generate());
    let one_partition = |record: TestRecord| [record.keyed("one partition")];
    publish(&topics, &one_partition(record(&topics, 1, &confirmed(first)))).await;
    wait_until_done(&topics).await;
    publish(&topics, &one_partition(record(&topics, 1, &cancelled(order)))).await;
    eventually("an ignored message waits", async || {
        let lags = Metrics::counted::<InboxMetrics>(&database).by_label("inbox_lag_messages");
        (lags.iter().map(|(_, lag)| lag).sum::<i64>() == 1).then_some(())
    })
    .await;
    publish(&topics, &one_partition(record(&topics, 2, &confirmed(order)))).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(first.uuid(), 1), (order.uuid(), 2)]);
    assert_eq!(transactions(&database).await, 2);
}

async fn transactions(database: &Database) -> i64 {
    count(database, "SELECT count(DISTINCT xmin::text) AS count FROM inbox_message").await
}
