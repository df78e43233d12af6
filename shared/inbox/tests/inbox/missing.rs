//! Records that retention removes before the consumer has read them.

use contracts::{OrderId, streams};
use inbox::InboxMetrics;
use metrics::Readings;
use testkit::{Metrics, TestTopics, eventually, remove_records};

use crate::common::{
    confirmed, database, parked, publish, record, recording, run, wait_for_effects, wait_until_done,
};

#[tokio::test(flavor = "multi_thread")]
async fn removed_records_are_counted_and_the_messages_behind_them_wait_until_they_are_published_again() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(20).collect();
    let numbered = |sequence| -> Vec<_> {
        orders.iter().map(|order| record(&topics, sequence, &confirmed(*order))).collect()
    };
    let missing = async |instance: &database::Database| {
        let counted = Metrics::counted::<InboxMetrics>(instance).count("inbox_missing_records_total");
        let (connection, mut readings) = (instance.connection().await.unwrap(), Readings::default());
        inbox::read_metrics(&connection, &mut readings).await.unwrap();
        (counted, Metrics::read(&readings).measure("inbox_oldest_held_seconds") > 0.0)
    };
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &numbered(1)).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(missing(&database).await, (0, false));

    let removed = numbered(2);
    publish(&topics, &removed).await;
    remove_records(&topics.events(streams::ORDERS)).await;
    publish(&topics, &numbered(3)).await;
    let another = database.second_instance();
    let runner = run(&another, &topics, recording("another"));
    eventually("held messages", async || (parked(&database).await.len() == 20).then_some(())).await;
    assert_eq!(missing(&another).await, (20, true));

    publish(&topics, &removed).await;
    wait_for_effects(&database, 60).await;
    runner.stop().await;
    assert_eq!(missing(&another).await, (20, false));
}
