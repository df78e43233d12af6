//! The password of the brokers is replaced while a consumer runs.

use contracts::events::{OrderCancelled, OrderConfirmed};
use contracts::{OrderId, streams};
use database::Tx;
use envelope::Message;
use inbox::{Consumer, HandlerError, RunnerSettings, no_locks};
use testkit::{Authority, Broker, BrokerTls, TestTopics};

use crate::common::{
    CONSUMER, cancelled, confirmed, database, publish, record, record_effect, recording, run, run_with,
    settings, wait_for_effects, wait_until_stopped,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_goes_on_with_a_password_that_was_replaced() {
    let authority = Authority::new();
    let mut broker = Broker::with_tls(BrokerTls::with_login(&authority, "PLAIN")).await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_for_effects(&database, 1).await;

    broker.stop().await;
    authority.file("password", "second");
    broker.start_again().await;
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_for_effects(&database, 2).await;
    runner.stop().await;
}

/// Parks nothing, so the partition of a cancelled order waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_waits_does_not_keep_the_others_from_a_password_that_was_replaced() {
    let authority = Authority::new();
    let mut broker = Broker::with_tls(BrokerTls::with_login(&authority, "PLAIN")).await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let consumer = Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await)
        .on(no_locks, async |_: &mut Tx, _: &Message<OrderCancelled>| {
            Err(HandlerError::Refused("a bug".to_owned()))
        });
    let runner = run_with(&database, &topics, consumer, RunnerSettings { parking_limit: 0, ..settings() });
    let waiting = publish(&topics, &[record(&topics, 1, &cancelled(OrderId::generate()))]).await[0];
    wait_until_stopped(&database, 1).await;

    broker.stop().await;
    authority.file("password", "second");
    broker.start_again().await;
    let orders: Vec<_> = (0..20).map(|_| record(&topics, 1, &confirmed(OrderId::generate()))).collect();
    let partitions = publish(&topics, &orders).await;
    let elsewhere = partitions.iter().filter(|partition| **partition != waiting).count();
    wait_for_effects(&database, elsewhere).await;
    runner.stop().await;
}
