//! Tests with a real broker; `./dev test` names it.

use super::*;
use rdkafka::{
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    consumer::CommitMode,
    producer::{BaseProducer, BaseRecord, Producer},
};

#[tokio::test]
async fn a_topic_shows_its_messages_and_each_group_its_position() {
    let brokers = std::env::var("IDEM_KAFKA_BROKERS").expect("IDEM_KAFKA_BROKERS is set by ./dev test");
    let prefix = format!("devtool-{}.", uuid::Uuid::now_v7().simple());
    let (topic, group) = (format!("{prefix}events"), format!("{prefix}readers"));
    let admin: AdminClient<_> = ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let new_topic = NewTopic::new(&topic, 2, TopicReplication::Fixed(1));
    admin.create_topics(&[new_topic], &AdminOptions::new()).await.unwrap()[0].as_ref().unwrap();
    write(&brokers, &topic, [3, 1]);
    commit(&brokers, &topic, &group, 2);

    let lines = report(&brokers, &prefix).unwrap();

    admin.delete_topics(&[&topic], &AdminOptions::new()).await.unwrap();
    admin.delete_groups(&[&group], &AdminOptions::new()).await.unwrap();
    assert_eq!(
        lines,
        [
            format!("{topic}: 4 messages, 2 partitions, end offsets 3 1"),
            format!("    group {group}: committed 2 -, lag 2"),
        ]
    );
}

/// Writes these numbers of messages to the partitions.
fn write(brokers: &str, topic: &str, counts: [usize; 2]) {
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
    for (partition, count) in (0..).zip(counts) {
        for _ in 0..count {
            let record = BaseRecord::<(), str>::to(topic).partition(partition).payload("{}");
            producer.send(record).unwrap();
        }
    }
    producer.flush(TIMEOUT).unwrap();
}

/// Commits an offset of partition 0 only.
fn commit(brokers: &str, topic: &str, group: &str, offset: i64) {
    let mut position = TopicPartitionList::new();
    position.add_partition_offset(topic, 0, Offset::Offset(offset)).unwrap();
    connect(brokers, group).unwrap().commit(&position, CommitMode::Sync).unwrap();
}
