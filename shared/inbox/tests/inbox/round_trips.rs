//! The round trips of a batch.

use contracts::OrderId;
use contracts::events::OrderConfirmed;
use database::{Database, Settings, Tx};
use diesel::select;
use diesel_async::RunQueryDsl;
use envelope::Message;
use inbox::{Consumer, HandlerError, LockKeys};
use testkit::{RoundTrips, TestTopics};
use tokio::runtime::Handle;

use crate::common::{CONSUMER, confirmed, count, database, publish, record, run, wait_until_done};

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

async fn transactions(database: &Database) -> i64 {
    count(database, "SELECT count(DISTINCT xmin::text) AS count FROM inbox_message").await
}
