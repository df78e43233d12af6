//! A record that Kafka's client cannot read stops its own partition only, until an operator skips it.

use contracts::{OrderId, streams};
use messaging::admin;
use serde_json::{Value, json};
use testkit::{Broker, TestTopics, eventually};

use crate::common::{
    CONSUMER, Operator, TestRecord, confirmed, database, effects, facts, publish, record, recording, run,
    wait_for_effects, wait_until_done,
};

/// Publishes one record alone, so that it has a checksum of its own. Returns its partition.
async fn publish_alone(topics: &TestTopics, record: TestRecord) -> i32 {
    publish(topics, &[record]).await[0]
}

/// An order whose records go to another partition than `taken`.
async fn order_elsewhere(topics: &TestTopics, taken: i32) -> OrderId {
    loop {
        let order = OrderId::generate();
        if publish_alone(topics, record(topics, 1, &confirmed(order))).await != taken {
            return order;
        }
    }
}

/// Waits until the consumer waits at this offset. Returns its entry.
async fn stopped_at(operator: &Operator, offset: i64) -> Value {
    eventually("a partition that waits", async || {
        let (_, report) = operator.asks("stopped").await;
        let mut partitions = report["partitions"].as_array().unwrap().iter();
        partitions.find(|partition| partition["offset"] == offset).cloned()
    })
    .await
}

async fn committed(topics: &TestTopics, partition: i32) -> Option<i64> {
    let (group, topic) = (topics.group(CONSUMER), topics.events(streams::ORDERS));
    admin::committed_offsets(&topics.brokers(), &group, &topic).await.unwrap()[&partition]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_record_stops_its_own_partition_only_until_it_is_skipped() {
    let broker = Broker::start().await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let topic = topics.events(streams::ORDERS);
    let operator = Operator::new(&database, &topics, recording("one"));
    let order = OrderId::generate();
    let partition = publish_alone(&topics, record(&topics, 1, &confirmed(order))).await;
    // Two records with one checksum, and one behind them.
    publish(&topics, &[2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)))).await;
    publish_alone(&topics, record(&topics, 4, &confirmed(order))).await;
    broker.corrupt(&topic, partition, 1);

    let consumer = run(&database, &topics, recording("one"));
    let other = order_elsewhere(&topics, partition).await;
    let place = stopped_at(&operator, 1).await;
    assert_eq!(place["topic"], topic);
    assert_eq!((&place["partition"], &place["cause"]), (&json!(partition), &json!("unreadable")));
    publish_alone(&topics, record(&topics, 2, &confirmed(other))).await;
    eventually("the other partition continues", async || {
        effects(&database).await.contains(&(other.uuid(), 2)).then_some(())
    })
    .await;
    assert_eq!(committed(&topics, partition).await, Some(1), "the partition keeps its place");

    let (done, refused) = operator.does(&format!("skip {topic} {partition} 0")).await;
    assert!(!done, "{refused}");
    let (done, report) = operator.does(&format!("skip {topic} {partition} 1")).await;
    assert!(done, "{report}");
    assert_eq!(report["continue_at"], 3);
    let facts = facts(&database).await;
    let [fact] = facts.as_slice() else { panic!("{facts:?}") };
    assert_eq!((fact.action.as_str(), &fact.details["offset"]), ("inbox.skip", &json!(1)));

    // The sequence guard held the message behind the gap. The missing ones are published again.
    publish(&topics, &[2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)))).await;
    wait_until_done(&topics).await;
    consumer.stop().await;
    let of_order = effects(&database).await.into_iter().filter(|(id, _)| *id == order.uuid());
    assert_eq!(of_order.map(|(_, sequence)| sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(operator.asks("stopped").await.1["partitions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_record_is_read_once_it_is_repaired_and_may_be_the_first_or_the_last() {
    let broker = Broker::start().await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let topic = topics.events(streams::ORDERS);
    let operator = Operator::new(&database, &topics, recording("one"));
    let order = OrderId::generate();
    let partition = publish_alone(&topics, record(&topics, 1, &confirmed(order))).await;
    broker.corrupt(&topic, partition, 0);
    let consumer = run(&database, &topics, recording("one"));
    stopped_at(&operator, 0).await;

    // The disk is repaired: the bit is as before.
    broker.corrupt(&topic, partition, 0);
    wait_for_effects(&database, 1).await;
    wait_until_done(&topics).await;
    consumer.stop().await;

    // Now the last record of the partition, where the consumer begins.
    publish_alone(&topics, record(&topics, 2, &confirmed(order))).await;
    broker.corrupt(&topic, partition, 1);
    let consumer = run(&database, &topics, recording("one"));
    stopped_at(&operator, 1).await;
    let (_, report) = operator.does(&format!("skip {topic} {partition} 1")).await;
    assert_eq!(report["continue_at"], 2, "the end of the partition");
    publish_alone(&topics, record(&topics, 2, &confirmed(order))).await;
    wait_for_effects(&database, 2).await;
    wait_until_done(&topics).await;
    consumer.stop().await;
}
