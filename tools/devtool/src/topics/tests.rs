//! Tests with a real broker; `./dev test` names it.

use super::*;
use messaging::admin::GroupOffsets;
use messaging::topics::{TopicSpec, ensure};
use messaging::{Publisher, Record};
use serde_json::json;

#[tokio::test]
async fn a_topic_shows_its_messages_and_each_group_its_position() {
    let addresses = std::env::var("IDEM_KAFKA_BROKERS").expect("./dev test sets it");
    let brokers = Brokers::from_environment(&addresses).unwrap();
    let prefix = format!("devtool-{}.", uuid::Uuid::now_v7().simple());
    let (topic, group) = (format!("{prefix}events"), format!("{prefix}readers"));
    ensure(&brokers, &[TopicSpec::new(&topic, 2)]).await.unwrap();
    // Three messages in partition 0, one in the other.
    let in_partition = |wanted| {
        let keys = (0_u8..).map(|key| [key]);
        keys.into_iter().find(|key| admin::partition_of(key, 2) == wanted).unwrap()
    };
    for partition in [0, 0, 0, 1] {
        write(&brokers, &topic, &in_partition(partition)).await;
    }
    let offsets = GroupOffsets::from([((topic.clone(), 0), 2)]);
    admin::set_group_offsets(&brokers, &group, &offsets).await.unwrap();

    let reports = report(&brokers, &prefix).await.unwrap();

    testkit::delete_topics(&[&topic]).await.unwrap();
    testkit::delete_groups(&[&group]).await.unwrap();
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!(
        report.to_string(),
        format!(
            "{topic}: 4 messages, 2 partitions, end offsets 3 1\n    group {group}: committed 2 -, lag 2\n"
        )
    );
    let groups = json!([{"group": group, "committed": [2, null], "lag": 2}]);
    assert_eq!(
        serde_json::to_value(report).unwrap(),
        json!({"topic": topic, "messages": 4, "ends": [3, 1], "groups": groups})
    );
}

async fn write(brokers: &Brokers, topic: &str, key: &[u8]) {
    let (publisher, mut reports) = Publisher::connect(brokers).unwrap();
    publisher.publish(Record { topic, key, payload: b"{}", headers: &[] }, 1).unwrap();
    reports.next().await.unwrap().result.unwrap();
}
