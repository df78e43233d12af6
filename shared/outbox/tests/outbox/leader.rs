//! One of two brokers is lost, and with it the leaders of half of the partitions.

use std::collections::BTreeMap;

use contracts::{OrderId, streams};
use envelope::Topics;
use outbox::Relay;
use testkit::{Background, Broker, TestDatabase, eventually};

use crate::common::{append_one, confirmed, count, first_occurrences, history, settings};

const NOT_PASSED: &str = "SELECT count(*) AS count FROM outbox_event AS event, outbox_cursor AS relay \
                          WHERE NOT outbox_is_published(relay, event.xid, event.id)";
const BLOCKED: &str = "SELECT count(*) AS count FROM outbox_blocked";
const BLOCKED_AGGREGATES: &str = "SELECT count(DISTINCT aggregate_id) AS count FROM outbox_blocked";

fn relay(database: &TestDatabase, broker: &Broker, topics: &Topics) -> Background {
    let relay = Relay::new((**database).clone(), broker.brokers(), topics.clone(), settings());
    Background::run(|stop| relay.run(stop))
}

/// Appends the event with this sequence to each aggregate. Waits until the cursor has passed all of them.
async fn append_and_pass(database: &TestDatabase, orders: &[OrderId], sequence: i64) {
    for order in orders {
        append_one(database, sequence, &confirmed(*order)).await;
    }
    eventually("the cursor passes the events", async || {
        (count(database, NOT_PASSED).await == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_without_a_leader_delays_only_its_own_events() {
    let (broker, database) = (Broker::start().await, TestDatabase::plain().await);
    let mut second = broker.start_second().await;
    let topics = broker.topics(&[streams::ORDERS]).await;
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(30).collect();
    let first = relay(&database, &broker, &topics);
    append_and_pass(&database, &orders, 1).await;
    assert_eq!(count(&database, BLOCKED).await, 0);

    second.kill().await;
    append_and_pass(&database, &orders, 2).await;
    let delayed = count(&database, BLOCKED_AGGREGATES).await;
    assert!((1..30).contains(&delayed), "{delayed} of 30 aggregates wait");
    append_and_pass(&database, &orders, 3).await;
    assert_eq!(count(&database, BLOCKED).await, 2 * delayed, "the others' events are acknowledged");
    first.stop().await;

    // The next relay has to notice the loss by itself.
    let next = relay(&database, &broker, &topics);
    let later: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(30).collect();
    // A process may start in the outage: it finds its topics.
    tokio::join!(append_and_pass(&database, &later, 1), broker.topics(&[streams::ORDERS]));
    append_and_pass(&database, &orders, 4).await;
    assert_eq!(
        count(&database, BLOCKED_AGGREGATES).await - delayed,
        count(&database, BLOCKED).await - 3 * delayed
    );

    second.start_again().await;
    eventually("no event waits", async || (count(&database, BLOCKED).await == 0).then_some(())).await;
    append_and_pass(&database, &orders, 5).await;
    next.stop().await;
    let published = broker.messages(&topics.events(streams::ORDERS)).await;
    let history = |order: &OrderId| (order.uuid(), history(if orders.contains(order) { 5 } else { 1 }));
    let expected: BTreeMap<_, _> = orders.iter().chain(&later).map(history).collect();
    assert_eq!(first_occurrences(&published), expected);
    let third =
        published.iter().filter(|message| crate::common::text(message, envelope::header::SEQUENCE) == "3");
    assert_eq!(third.count(), 30, "an event after the relay has noticed the loss is published once");
}
