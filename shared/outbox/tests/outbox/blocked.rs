//! Messages that Kafka refuses for good: each blocks its own aggregate.

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use operators::Installation;
use testkit::{TestDatabase, TestTopics, configure_topic, eventually};

use crate::common::{
    append_one, confirmed, context, first_occurrences, history, json_output, relay,
    relay_with_missing_topics, reserved, settings, wait_for,
};

pub(crate) const RELEASE: [&str; 5] = ["release", "--by", "ada", "--reason", "the cause is removed"];

/// Changes the rows of an aggregate, as only the owner of the table may.
pub(crate) async fn set_tenant(database: &TestDatabase, order: OrderId, tenant: &str) {
    let change =
        format!("UPDATE outbox_event SET tenant_id = '{tenant}' WHERE aggregate_id = '{}'", order.uuid());
    database.owner().await.batch_execute(&change).await.unwrap();
}

/// The number of blocked messages and of their aggregates.
pub(crate) async fn blocked(context: &Installation) -> (i64, i64) {
    let blocked = json_output(context, &["status"]).await["blocked"].take();
    (blocked["rows"].as_i64().unwrap(), blocked["aggregates"].as_i64().unwrap())
}

pub(crate) async fn wait_for_blocked(context: &Installation, expected: (i64, i64)) {
    eventually(&format!("{expected:?} messages and aggregates are blocked"), async || {
        (blocked(context).await == expected).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_published_blocks_its_aggregate_only() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let (bad, good) = (OrderId::generate(), OrderId::generate());
    append_one(&database, 1, &confirmed(bad)).await;
    set_tenant(&database, bad, "not a name").await;
    append_one(&database, 2, &confirmed(bad)).await;
    append_one(&database, 1, &confirmed(good)).await;
    let first = relay(&database, &topics, crate::common::short_lived());
    wait_for(&topics, streams::ORDERS, 1).await;
    wait_for_blocked(&context, (2, 1)).await;
    let status = json_output(&context, &["status"]).await;
    assert_eq!(status["backlog"]["rows"], 0, "the cursor has passed them");
    assert!(status["blocked"]["first"].as_str().unwrap().contains("a tenant is"), "{status}");
    first.kill().await;

    // The next relay knows them.
    let second = relay(&database, &topics, crate::common::short_lived());
    append_one(&database, 3, &confirmed(bad)).await;
    append_one(&database, 2, &confirmed(good)).await;
    wait_for(&topics, streams::ORDERS, 2).await;
    wait_for_blocked(&context, (3, 1)).await;
    second.stop().await;
    assert_eq!(
        first_occurrences(&topics.messages(streams::ORDERS).await),
        [(good.uuid(), history(2))].into()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_stops_no_other_topic() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    let context = context(&database, &topics);
    append_one(&database, 1, &reserved(OrderId::generate())).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    let relay = relay_with_missing_topics(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 1).await;
    wait_for_blocked(&context, (1, 1)).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 2).await;

    topics.make(&[streams::INVENTORY]).await;
    json_output(&context, &RELEASE).await;
    wait_for(&topics, streams::INVENTORY, 1).await;
    wait_for_blocked(&context, (0, 0)).await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_whose_time_the_brokers_refused_follow_once_the_limit_is_right() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let limit = "message.timestamp.before.max.ms";
    let topic = topics.events(streams::ORDERS);
    configure_topic(&topic, limit, "0").await;
    for _ in 0..20 {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
    }
    let relay = relay(&database, &topics, settings());
    let context = context(&database, &topics);
    eventually("refused events", async || (blocked(&context).await.0 > 0).then_some(())).await;
    configure_topic(&topic, limit, "86400000").await;
    wait_for(&topics, streams::ORDERS, 20).await;
    wait_for_blocked(&context, (0, 0)).await;
    assert_eq!(first_occurrences(&topics.messages(streams::ORDERS).await).len(), 20);
    relay.stop().await;
}
