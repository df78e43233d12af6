//! A record that Kafka's client cannot read is parked alone, and its partition continues behind it.

use contracts::{OrderId, streams};
use database::{Database, Settings};
use envelope::MessageParked;
use inbox::RunnerSettings;
use messaging::admin;
use serde_json::{Value, json};
use testkit::{Broker, Proxy, TestTopics, eventually};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::common::{
    CONSUMER, Operator, TestRecord, confirmed, count, database, effects, publish, random, record, recording,
    rewind, run, run_with, settings, wait_for_effects, wait_until_done,
};

/// Makes a record longer than the part of a response before it. Behind a wrong checksum, librdkafka goes on too early by the length of
/// that part (`messaging::admin::next_readable` has the reason). In these letters it reads an unknown version, and stops.
fn padded(record: TestRecord) -> TestRecord {
    record.with("padding", random(4_000).as_bytes())
}

/// Publishes one record alone, so that it has a checksum of its own. Returns its partition.
async fn publish_alone(topics: &TestTopics, record: TestRecord) -> i32 {
    publish(topics, &[padded(record)]).await[0]
}

/// The sequences of this order's effects.
async fn effects_of(database: &Database, order: OrderId) -> Vec<i64> {
    let of_order = effects(database).await.into_iter().filter(|(id, _)| *id == order.uuid());
    of_order.map(|(_, sequence)| sequence).collect()
}

/// The parked records, by offset.
async fn parked(operator: &Operator) -> Vec<Value> {
    let (_, report) = operator.asks("parked").await;
    let messages = report["messages"].as_array().unwrap().iter();
    let mut parked: Vec<Value> = messages.filter(|message| message["state"] == "parked").cloned().collect();
    parked.sort_by_key(|message| message["offset"].as_i64());
    parked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_record_is_parked_alone_and_its_partition_continues_behind_it() {
    let broker = Broker::start().await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let topic = topics.events(streams::ORDERS);
    let operator = Operator::new(&database, &topics, recording("one"));
    let [order, behind] = [OrderId::generate(), OrderId::generate()];
    let of_order = |sequence| record(&topics, sequence, &confirmed(order)).keyed("the same partition");
    let of_another = record(&topics, 1, &confirmed(behind)).keyed("the same partition");
    let partition = publish_alone(&topics, of_order(1)).await;
    // Two records with one checksum, and two behind them.
    let lost = [2, 3].map(of_order).map(padded);
    publish(&topics, &lost).await;
    publish_alone(&topics, of_order(4)).await;
    publish_alone(&topics, of_another).await;
    broker.corrupt(&topic, partition, 1);

    // No limit counts for such records: there is no fix in this service that the partition could wait for.
    let none_alike = RunnerSettings { parking_limit: 0, ..settings() };
    let consumer = run_with(&database, &topics, recording("one"), none_alike);
    wait_until_done(&topics).await;
    assert_eq!(effects_of(&database, behind).await, [1], "the partition continues");
    assert_eq!(effects_of(&database, order).await, [1], "the gap holds the later message of this order");
    let [row] = &parked(&operator).await[..] else { panic!("one record is parked") };
    assert_eq!(
        (&row["topic"], &row["partition"], &row["offset"]),
        (&json!(topic), &json!(partition), &json!(1))
    );
    assert_eq!((&row["sequence"], &row["held_behind"]), (&json!(0), &json!(0)), "alone");
    let error = row["error"].as_str().unwrap();
    assert!(error.contains("cannot read the records from offset 1 to 2"), "{error}");
    let id: Uuid = row["message_id"].as_str().unwrap().parse().unwrap();
    let copied = format!(
        "SELECT count(*) AS count FROM outbox_event WHERE topic = '{}'",
        MessageParked::topic(CONSUMER)
    );
    assert_eq!(count(&database, &copied).await, 1, "the dead letter");

    // The sender publishes the missing ones again.
    publish(&topics, &lost).await;
    wait_until_done(&topics).await;
    assert_eq!(effects_of(&database, order).await, [1, 2, 3, 4]);
    // Nothing is applied of the record itself.
    let (done, report) = operator.does("redrive --all").await;
    assert!(!done, "{report}");
    let (done, report) = operator.does(&format!("discard {id}")).await;
    assert!(done, "{report}");
    assert_eq!(parked(&operator).await, Vec::<Value>::new());
    consumer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_record_may_be_the_first_or_the_last_and_is_read_by_a_rewind_once_it_is_repaired() {
    let broker = Broker::start().await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let topic = topics.events(streams::ORDERS);
    let operator = Operator::new(&database, &topics, recording("one"));
    let order = OrderId::generate();
    // The first record of its partition is the last one, too.
    let partition = publish_alone(&topics, record(&topics, 1, &confirmed(order))).await;
    broker.corrupt(&topic, partition, 0);
    let consumer = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    publish_alone(&topics, record(&topics, 2, &confirmed(order))).await;
    wait_until_done(&topics).await;
    consumer.stop().await;
    assert_eq!(effects(&database).await, []);

    // The disk is repaired: the bit is as before. The other record is corrupt now.
    broker.corrupt(&topic, partition, 0);
    broker.corrupt(&topic, partition, 1);
    rewind(&topics).await;
    let consumer = run(&database, &topics, recording("one"));
    wait_for_effects(&database, 2).await;
    wait_until_done(&topics).await;
    assert_eq!(effects_of(&database, order).await, [1, 2], "the held one was stored");
    assert_eq!(parked(&operator).await.iter().map(|row| row["offset"].clone()).collect::<Vec<_>>(), [0, 1]);

    // Read again, a corrupt record is parked once.
    consumer.stop().await;
    rewind(&topics).await;
    let consumer = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    assert_eq!(parked(&operator).await.len(), 2);
    consumer.stop().await;
}

/// The partition must not continue before the record is parked: nothing else would tell that it is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_continues_behind_a_corrupt_record_only_once_it_is_parked() {
    let broker = Broker::start().await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let topic = topics.events(streams::ORDERS);
    let operator = Operator::new(&database, &topics, recording("one"));
    let partition = publish_alone(&topics, record(&topics, 1, &confirmed(OrderId::generate()))).await;
    broker.corrupt(&topic, partition, 0);
    let proxy = Proxy::to_postgres().await;
    let url = database.service_url(Some(proxy.address()));
    let through = Database::new(&Settings::new(url), Handle::current()).unwrap();
    proxy.cut().await;
    let consumer = run(&through, &topics, recording("one"));
    eventually("several attempts to park", async || (proxy.refused() > 5).then_some(())).await;
    let committed =
        admin::committed_offsets(&topics.brokers(), &topics.group(CONSUMER), &topic).await.unwrap();
    assert_eq!(committed[&partition], None, "the partition keeps its place");

    proxy.mend();
    wait_until_done(&topics).await;
    assert_eq!(parked(&operator).await.len(), 1);
    consumer.stop().await;
}
