//! Blocked messages that are released: by an operator, or because their topic can be used again.

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use envelope::Event;
use serde_json::{Value, json};
use testkit::{TestDatabase, TestTopics, eventually};

use crate::blocked::{RELEASE, blocked, set_tenant, wait_for_blocked};
use crate::common::{
    append_one, confirmed, context, count, first_occurrences, history, json_output, progress, relay,
    relay_with_missing_topics, reserved, settings, short_lived, tenant, wait_for,
};

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
async fn messages_of_a_missing_topic_are_published_without_an_operator_once_it_exists() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    let context = context(&database, &topics);
    let (late, bad) = (OrderId::generate(), OrderId::generate());
    append_one(&database, 1, &reserved(late)).await;
    append_one(&database, 2, &reserved(late)).await;
    append_one(&database, 1, &confirmed(bad)).await;
    set_tenant(&database, bad, "not a name").await;
    let relay = relay_with_missing_topics(&database, &topics, settings());
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

/// The client knows by then that the topic is missing, and refuses them at once.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_come_while_their_topic_is_missing_are_published_once_it_exists() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let context = context(&database, &topics);
    let relay = relay_with_missing_topics(&database, &topics, settings());
    for messages in 1..=3 {
        append_one(&database, 1, &reserved(OrderId::generate())).await;
        wait_for_blocked(&context, (messages, messages)).await;
    }
    topics.make(&[streams::INVENTORY]).await;
    wait_for(&topics, streams::INVENTORY, 3).await;
    wait_for_blocked(&context, (0, 0)).await;
    relay.stop().await;
}

/// More messages than the relay reads at a time: the first ones of all aggregates, then the second ones.
async fn append_two_of_many<E: Event>(database: &TestDatabase, event: impl Fn(OrderId) -> E) -> Vec<OrderId> {
    let orders: Vec<OrderId> = (0..700).map(|_| OrderId::generate()).collect();
    let mut tx = database.begin().await.unwrap();
    for sequence in [1, 2] {
        for order in &orders {
            outbox::append(&mut tx, &tenant(), sequence, &event(*order)).unwrap();
        }
    }
    tx.commit().await.unwrap();
    orders
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_many_aggregates_publishes_all_of_their_messages_in_order() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let orders = append_two_of_many(&database, confirmed).await;
    let mut owner = database.owner().await;
    owner.batch_execute("UPDATE outbox_event SET tenant_id = 'not a name'").await.unwrap();
    let relay = relay(&database, &topics, settings());
    wait_for_blocked(&context, (1_400, 700)).await;
    owner.batch_execute("UPDATE outbox_event SET tenant_id = 'acme'").await.unwrap();
    json_output(&context, &RELEASE).await;
    wait_for_blocked(&context, (0, 0)).await;
    append_one(&database, 3, &confirmed(orders[0])).await;
    wait_for(&topics, streams::ORDERS, 1_401).await;
    relay.stop().await;
    let mut published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published.remove(&orders[0].uuid()), Some(history(3)));
    assert_eq!(published.len(), 699);
    assert!(published.values().all(|sequences| *sequences == history(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_can_be_used_again_gets_all_messages_of_many_aggregates() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let context = context(&database, &topics);
    append_two_of_many(&database, reserved).await;
    let relay = relay_with_missing_topics(&database, &topics, settings());
    wait_for_blocked(&context, (1_400, 700)).await;
    topics.make(&[streams::INVENTORY]).await;
    wait_for(&topics, streams::INVENTORY, 1_400).await;
    wait_for_blocked(&context, (0, 0)).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::INVENTORY).await);
    assert_eq!(published.len(), 700);
    assert!(published.values().all(|sequences| *sequences == history(2)));
}

/// The next relay reads the rows of gaps again. A blocked row then waits behind its own aggregate.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_read_again_keeps_the_topic_that_it_waits_for() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let context = context(&database, &topics);
    let order = OrderId::generate();
    append_one(&database, 1, &reserved(order)).await;
    append_one(&database, 2, &reserved(order)).await;
    let first = relay_with_missing_topics(&database, &topics, short_lived());
    wait_for_blocked(&context, (2, 1)).await;
    first.stop().await;
    let behind = "UPDATE outbox_cursor SET position = 0, gaps = '{}'";
    database.owner().await.batch_execute(behind).await.unwrap();
    let second = relay_with_missing_topics(&database, &topics, short_lived());
    eventually("the relay has read both rows again", async || {
        (progress(&database).await.position == 2).then_some(())
    })
    .await;
    topics.make(&[streams::INVENTORY]).await;
    wait_for(&topics, streams::INVENTORY, 2).await;
    wait_for_blocked(&context, (0, 0)).await;
    second.stop().await;
}

/// An operator has released the only message of this order, and no relay has run since.
async fn released_while_no_relay_runs(database: &TestDatabase, topics: &TestTopics) -> OrderId {
    let context = context(database, topics);
    let order = OrderId::generate();
    append_one(database, 1, &confirmed(order)).await;
    set_tenant(database, order, "not a name").await;
    let relay = relay(database, topics, short_lived());
    wait_for_blocked(&context, (1, 1)).await;
    relay.stop().await;
    set_tenant(database, order, "acme").await;
    assert_eq!(json_output(&context, &RELEASE).await["messages"], 1);
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_while_no_relay_runs_also_counts_for_messages_that_come_later() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = released_while_no_relay_runs(&database, &topics).await;
    append_one(&database, 2, &confirmed(order)).await;
    let second = relay(&database, &topics, short_lived());
    wait_for(&topics, streams::ORDERS, 2).await;
    wait_for_blocked(&context(&database, &topics), (0, 0)).await;
    second.stop().await;
    assert_eq!(
        first_occurrences(&topics.messages(streams::ORDERS).await),
        [(order.uuid(), history(2))].into()
    );
}

/// Its topic does not exist yet, so the first relay does not get it published.
#[tokio::test(flavor = "multi_thread")]
async fn a_released_message_is_not_lost_if_the_relay_is_killed_before_it_is_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let context = context(&database, &topics);
    let order = OrderId::generate();
    append_one(&database, 1, &reserved(order)).await;
    set_tenant(&database, order, "not a name").await;
    let first = relay(&database, &topics, short_lived());
    wait_for_blocked(&context, (1, 1)).await;
    set_tenant(&database, order, "acme").await;
    json_output(&context, &RELEASE).await;
    wait_for_blocked(&context, (0, 0)).await;
    first.kill().await;
    topics.make(&[streams::INVENTORY]).await;
    let second = relay(&database, &topics, short_lived());
    wait_for(&topics, streams::INVENTORY, 1).await;
    second.stop().await;
}

/// Somebody holds the row, so the relay waits while it takes the release, and is stopped then.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_release_a_stop_interrupts_is_published_by_the_next_relay() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    released_while_no_relay_runs(&database, &topics).await;
    let mut holder = database.owner().await;
    holder.batch_execute("BEGIN; SELECT FROM outbox_blocked FOR UPDATE").await.unwrap();
    let stopped = relay(&database, &topics, short_lived());
    eventually("the relay waits for the row", async || {
        let waits = "SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND locktype = 'transactionid' \
                        AND database IS NULL AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
        (count(&database, waits).await == 1).then_some(())
    })
    .await;
    let release = async { holder.batch_execute("COMMIT").await.unwrap() };
    tokio::join!(stopped.stop(), release);
    let next = relay(&database, &topics, short_lived());
    wait_for(&topics, streams::ORDERS, 1).await;
    next.stop().await;
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
        let waiting = "SELECT count(*) AS count FROM outbox_blocked WHERE released_at IS NULL";
        (count(&database, waiting).await == MANY).then_some(())
    })
    .await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    assert_eq!(blocked(&context).await, (MANY, 1));
    relay.stop().await;
}
