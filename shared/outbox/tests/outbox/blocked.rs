//! Messages that Kafka refuses for good: each blocks its own aggregate, until an operator releases it.

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use outbox::Relay;
use outbox::operator::OperatorContext;
use serde_json::{Value, json};
use testkit::{Background, TestDatabase, TestTopics, eventually};

use crate::common::{
    append_one, confirmed, context, count, first_occurrences, history, json_output, relay, reserved,
    settings, tenant, wait_for,
};

const RELEASE: [&str; 5] = ["release", "--by", "ada", "--reason", "the cause is removed"];

/// Changes the rows of an aggregate, as only the owner of the table may.
async fn set_tenant(database: &TestDatabase, order: OrderId, tenant: &str) {
    let change =
        format!("UPDATE outbox_event SET tenant_id = '{tenant}' WHERE aggregate_id = '{}'", order.uuid());
    database.owner().await.batch_execute(&change).await.unwrap();
}

/// The number of blocked messages and of their aggregates.
async fn blocked(context: &OperatorContext) -> (i64, i64) {
    let blocked = json_output(context, &["status"]).await["blocked"].take();
    (blocked["rows"].as_i64().unwrap(), blocked["aggregates"].as_i64().unwrap())
}

async fn wait_for_blocked(context: &OperatorContext, expected: (i64, i64)) {
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
async fn released_messages_are_published_in_order_and_later_ones_follow() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let (bad, other) = (OrderId::generate(), OrderId::generate());
    for order in [bad, other] {
        append_one(&database, 1, &confirmed(order)).await;
        set_tenant(&database, order, "not a name").await;
        append_one(&database, 2, &confirmed(order)).await;
    }
    let relay = relay(&database, &topics, settings());
    wait_for_blocked(&context, (4, 2)).await;

    // While the cause remains, a release changes nothing.
    let report = json_output(&context, &RELEASE).await;
    assert_eq!(report, json!({ "dry_run": false, "messages": 4, "aggregates": 2 }));
    eventually("they are blocked again", async || {
        (count(&database, "SELECT count(*) AS count FROM outbox_blocked WHERE released_at IS NULL").await
            == 4)
            .then_some(())
    })
    .await;
    assert_eq!(topics.count(streams::ORDERS).await, 0);

    set_tenant(&database, bad, "acme").await;
    let aggregate = bad.uuid().to_string();
    let one = [&RELEASE[..], &["--aggregate", &aggregate]].concat();
    let dry: Value = json_output(&context, &[&one[..], &["--dry-run"]].concat()).await;
    assert_eq!(dry, json!({ "dry_run": true, "messages": 2, "aggregates": 1 }));
    assert_eq!(json_output(&context, &one).await["messages"], 2);
    wait_for(&topics, streams::ORDERS, 2).await;
    wait_for_blocked(&context, (2, 1)).await;
    append_one(&database, 3, &confirmed(bad)).await;
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    assert_eq!(first_occurrences(&topics.messages(streams::ORDERS).await), [(bad.uuid(), history(3))].into());
    let facts = "SELECT count(*) AS count FROM audit_fact WHERE action = 'outbox.release'";
    assert_eq!(count(&database, facts).await, 2, "a dry run leaves no fact");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_stops_no_other_topic() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    let context = context(&database, &topics);
    append_one(&database, 1, &reserved(OrderId::generate())).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    // How soon the client gives up on a missing topic; the default is 30 s.
    let brokers = topics.brokers().with("topic.metadata.propagation.max.ms", "100");
    let relay = Relay::new(database.clone(), brokers, (*topics).clone(), settings());
    let relay = Background::run(|stop| relay.run(stop));
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
async fn messages_of_a_missing_topic_are_published_without_an_operator_once_it_exists() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    let context = context(&database, &topics);
    let (late, bad) = (OrderId::generate(), OrderId::generate());
    append_one(&database, 1, &reserved(late)).await;
    append_one(&database, 2, &reserved(late)).await;
    append_one(&database, 1, &confirmed(bad)).await;
    set_tenant(&database, bad, "not a name").await;
    let brokers = topics.brokers().with("topic.metadata.propagation.max.ms", "100");
    let relay = Relay::new(database.clone(), brokers, (*topics).clone(), settings());
    let relay = Background::run(|stop| relay.run(stop));
    wait_for_blocked(&context, (3, 2)).await;
    topics.make(&[streams::INVENTORY]).await;
    wait_for(&topics, streams::INVENTORY, 2).await;
    wait_for_blocked(&context, (1, 1)).await; // an event that was refused for another reason waits for an operator
    append_one(&database, 3, &reserved(late)).await;
    wait_for(&topics, streams::INVENTORY, 3).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::INVENTORY).await);
    assert_eq!(published.into_values().collect::<Vec<_>>(), [history(3)]);
}

/// More messages than the relay reads at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_many_messages_whose_cause_remains_stops_nothing() {
    const MANY: i64 = 1_100;
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let bad = OrderId::generate();
    let mut tx = database.begin().await.unwrap();
    for sequence in 1..=MANY {
        outbox::append(&mut tx, &tenant(), sequence, &confirmed(bad)).unwrap();
    }
    tx.commit().await.unwrap();
    set_tenant(&database, bad, "not a name").await;
    let relay = relay(&database, &topics, settings());
    wait_for_blocked(&context, (MANY, 1)).await;
    assert_eq!(json_output(&context, &RELEASE).await["messages"], MANY);
    eventually("they are blocked again", async || {
        let released = "SELECT count(*) AS count FROM outbox_blocked WHERE released_at IS NOT NULL";
        (count(&database, released).await == 0).then_some(())
    })
    .await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    assert_eq!(blocked(&context).await, (MANY, 1));
    relay.stop().await;
}
