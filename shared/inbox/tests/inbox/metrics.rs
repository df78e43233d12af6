//! The metrics of the inbox: each is moved by a message that must move it, and by no other.

use contracts::{ItemId, OrderId, streams};
use database::Database;
use inbox::InboxMetrics;
use metrics::Readings;
use testkit::{Metrics, TestTopics, eventually, labelled};

use crate::common::{
    Fix, changed, confirmed, database, parked, publish, record, recording, rewind, run, wait_for_effects,
    wait_until_done,
};

fn counted(database: &Database) -> Metrics {
    Metrics::counted::<InboxMetrics>(database)
}

/// The outcomes of the messages, with their numbers.
fn messages(database: &Database) -> Vec<(String, i64)> {
    counted(database).by_label("inbox_messages_total")
}

/// Parked and held messages, as a scrape reads them.
async fn waiting(database: &Database) -> [i64; 2] {
    let (connection, mut readings) = (database.connection().await.unwrap(), Readings::default());
    inbox::read_metrics(&connection, &mut readings).await.unwrap();
    let read = Metrics::read(&readings);
    ["parked", "held"].map(|state| read.count(&format!("inbox_waiting_messages{{state=\"{state}\"}}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_applied_once_and_each_further_delivery_is_a_duplicate() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let [first, second] = [1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &[first.clone(), first, second]).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(messages(&database), labelled(&[("applied", 2), ("duplicate", 1)]));
    rewind(&topics).await;
    let again = database.second_instance();
    let runner = run(&again, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(messages(&again), labelled(&[("duplicate", 3)]), "nothing was applied");
    assert_eq!(counted(&again).count("inbox_batch_messages_sum"), 3);
    assert_eq!(counted(&again).count("inbox_failed_attempts_total"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_too_early_is_held_and_then_applied() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[record(&topics, 2, &confirmed(order))]).await;
    eventually("a held message", async || (parked(&database).await.len() == 1).then_some(())).await;
    eventually("it is counted", async || (messages(&database) == labelled(&[("held", 1)])).then_some(()))
        .await;
    assert_eq!(waiting(&database).await, [0, 1]);
    publish(&topics, &[record(&topics, 1, &confirmed(order))]).await;
    wait_for_effects(&database, 2).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(messages(&database), labelled(&[("applied", 2), ("held", 1)]));
    assert_eq!(counted(&database).count("inbox_skipped_gaps_total"), 0, "only a projection skips");
    assert_eq!(waiting(&database).await, [0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projection_counts_the_gaps_that_it_skips() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let item = ItemId::of(&"acme".parse().unwrap(), &"SKU-1".parse().unwrap());
    publish(&topics, &[1, 2, 5].map(|sequence| record(&topics, sequence, &changed(item)))).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(counted(&database).count("inbox_skipped_gaps_total"), 1);
    assert_eq!(messages(&database), labelled(&[("applied", 3)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_fails_is_counted_with_its_attempts_and_parked_once() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let fix = Fix::default();
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    let runner = run(&database, &topics, fix.consumer());
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(messages(&database), labelled(&[("parked", 1)]));
    assert_eq!(waiting(&database).await, [1, 0]);
    let failed = counted(&database).count("inbox_failed_attempts_total");
    assert_eq!(failed, 1, "its handler refuses it, so one attempt is enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_of_a_partition_falls_to_zero_when_its_messages_are_processed() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_until_done(&topics).await;
    let orders = topics.events(streams::ORDERS);
    let lags = || counted(&database).by_label("inbox_lag_messages");
    eventually("every partition is known, and none lags", async || {
        let metrics = counted(&database);
        let known = metrics.series_of("inbox_lag_messages");
        let partitions = known.iter().filter(|series| series.contains(&orders)).count();
        (partitions > 0 && lags().is_empty()).then_some(())
    })
    .await;
    runner.stop().await;
}
