//! Old entries are deleted, and late duplicates of their messages still have no effect.

use chrono::TimeDelta;
use contracts::OrderId;
use database::Database;
use diesel_async::SimpleAsyncConnection;
use inbox::{Consumer, TrimCounts, trim};
use testkit::{TestDatabase, TestTopics};
use tokio_util::sync::CancellationToken;

use crate::common::{
    Fix, Operator, TestRecord, audited, confirmed, count, database, effects, parked, publish, record,
    recording, rewind, run, wait_until_done,
};

/// All entries are older than this.
const OLD: &str = "UPDATE inbox_message SET processed_at = processed_at - interval '40 days'";

async fn pass(database: &Database) -> TrimCounts {
    trim(database, TimeDelta::days(35), &CancellationToken::new()).await.unwrap()
}

fn deleted(deleted: u64, kept: u64) -> TrimCounts {
    TrimCounts { deleted, kept }
}

async fn entries(database: &Database) -> i64 {
    count(database, "SELECT count(*) AS count FROM inbox_message").await
}

async fn change(database: &TestDatabase, statement: &str) {
    database.owner().await.batch_execute(statement).await.unwrap();
}

/// Publishes the messages and lets a consumer read all messages of the topics that it has not read.
async fn consume(database: &TestDatabase, topics: &TestTopics, consumer: Consumer, records: &[TestRecord]) {
    publish(topics, records).await;
    let runner = run(database, topics, consumer);
    wait_until_done(topics).await;
    runner.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trimmed_message_that_is_delivered_again_is_a_duplicate_and_no_other_history() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    consume(&database, &topics, recording("one"), &records).await;
    let once = effects(&database).await;
    assert_eq!(pass(&database).await, deleted(0, 0), "they are young");
    change(&database, OLD).await;
    assert_eq!(pass(&database).await, deleted(2, 0));
    assert_eq!(entries(&database).await, 0);
    audited(&database).await;

    rewind(&topics).await;
    consume(&database, &topics, recording("another"), &[]).await;
    assert_eq!(effects(&database).await, once);
    assert!(parked(&database).await.is_empty());
    change(&database, OLD).await;
    assert_eq!(pass(&database).await, deleted(2, 0), "they were entered again");

    // An unknown message with an old number looks like a trimmed one.
    let unknown = record(&topics, 1, &confirmed(order));
    consume(&database, &topics, recording("another"), &[unknown]).await;
    assert_eq!(effects(&database).await, once);
    assert!(parked(&database).await.is_empty());
    // The aggregate continues.
    consume(&database, &topics, recording("another"), &[record(&topics, 3, &confirmed(order))]).await;
    assert_eq!(effects(&database).await, [once, vec![(order.uuid(), 3)]].concat());
}

/// The first message is parked, and the second is held behind it.
#[tokio::test(flavor = "multi_thread")]
async fn the_entries_of_messages_that_wait_stay_and_a_rewind_ends() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, fix) = (OrderId::generate(), Fix::default());
    let records = [1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    consume(&database, &topics, fix.consumer(), &records).await;
    assert_eq!(parked(&database).await.len(), 2);
    change(&database, OLD).await;
    assert_eq!(pass(&database).await, deleted(0, 2));

    rewind(&topics).await;
    consume(&database, &topics, fix.consumer(), &[]).await;
    assert_eq!((parked(&database).await.len(), effects(&database).await.len()), (2, 0));
    let copies = "SELECT count(*) AS count FROM outbox_event WHERE topic LIKE '%.dlq'";
    assert_eq!(count(&database, copies).await, 1, "it was not parked again");

    fix.come();
    let operator = Operator::new(&database, &topics, fix.consumer());
    assert!(operator.does("redrive --all").await.0);
    assert_eq!(pass(&database).await, deleted(2, 0));
    rewind(&topics).await;
    consume(&database, &topics, fix.consumer(), &[]).await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1), (order.uuid(), 2)]);
    assert!(parked(&database).await.is_empty());
}

/// The third message arrived long before the second, and was held.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_history_has_no_gap() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 3, 2, 4].map(|sequence| record(&topics, sequence, &confirmed(order)));
    consume(&database, &topics, recording("one"), &records).await;
    assert_eq!(effects(&database).await.len(), 4);
    change(&database, &format!("{OLD} WHERE sequence IN (1, 3)")).await;
    assert_eq!(pass(&database).await, deleted(1, 1));
    audited(&database).await;
    change(&database, &format!("{OLD} WHERE sequence = 2")).await;
    assert_eq!(pass(&database).await, deleted(2, 0));
    audited(&database).await;
    assert_eq!(entries(&database).await, 1);
}

/// The second history is from a restored sender. Its message was parked and discarded.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_messages_with_one_number_is_not_trimmed_before_the_second() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 1].map(|sequence| record(&topics, sequence, &confirmed(order)));
    consume(&database, &topics, recording("one"), &records).await;
    let second = parked(&database).await.remove(0).message_id;
    let operator = Operator::new(&database, &topics, recording("operator"));
    assert!(operator.does(&format!("discard {second}")).await.0);
    change(&database, &format!("{OLD} WHERE message_id <> '{second}'")).await;
    assert_eq!(pass(&database).await, deleted(0, 1));
    rewind(&topics).await;
    consume(&database, &topics, recording("another"), &[]).await;
    assert!(parked(&database).await.is_empty(), "the first message is not one of another history");
    change(&database, OLD).await;
    assert_eq!(pass(&database).await, deleted(2, 0));
}

/// Three batches of old entries and one of young ones.
#[tokio::test(flavor = "multi_thread")]
async fn instances_delete_the_old_entries_once_and_end_when_they_are_stopped() {
    let database = database().await;
    let fill = "INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence, processed_at) \
                SELECT 'inventory', gen_random_uuid(), 'orders', aggregate, n % 5 + 1, \
                       clock_timestamp() - interval '1 day' * CASE WHEN n < 2500 THEN 36 ELSE 34 END \
                  FROM (SELECT n, md5((n / 5)::text)::uuid AS aggregate FROM generate_series(0, 3499) AS n) AS made";
    change(&database, fill).await;
    let stopped = CancellationToken::new();
    stopped.cancel();
    assert_eq!(trim(&database, TimeDelta::days(35), &stopped).await.unwrap(), deleted(0, 0));
    let passes = futures_util::future::join_all((0..4).map(|_| pass(&database))).await;
    assert_eq!(passes.iter().map(|counts| counts.deleted).sum::<u64>(), 2_500);
    assert_eq!(entries(&database).await, 1_000);
}
