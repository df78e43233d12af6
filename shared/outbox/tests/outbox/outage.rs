//! Messages that Kafka does not acknowledge are sent again, after an outage of the broker.

use std::collections::BTreeMap;

use contracts::{OrderId, streams};
use envelope::Topics;
use outbox::Relay;
use testkit::{Background, Broker, TestDatabase, eventually};

use crate::common::{append_one, confirmed, first_occurrences, history, progress, settings};

/// A few aggregates with a growing number of events. Each test has its own broker.
struct Outage {
    broker: Broker,
    topics: Topics,
    database: TestDatabase,
    orders: Vec<OrderId>,
    appended: i64,
}

impl Outage {
    async fn prepare() -> Self {
        let (broker, database) = (Broker::start().await, TestDatabase::plain().await);
        let topics = broker.topics(&[streams::ORDERS]).await;
        let orders = std::iter::repeat_with(OrderId::generate).take(8).collect();
        Self { broker, topics, database, orders, appended: 0 }
    }

    fn relay(&self) -> Background {
        let relay =
            Relay::new((*self.database).clone(), self.broker.brokers(), self.topics.clone(), settings());
        Background::run(|stop| relay.run(stop))
    }

    /// Appends the next events of all aggregates.
    async fn append_events(&mut self, more: i64) {
        for sequence in self.appended + 1..=self.appended + more {
            for order in &self.orders {
                append_one(&self.database, sequence, &confirmed(*order)).await;
            }
        }
        self.appended += more;
    }

    async fn assert_all_are_published_in_order(&self) {
        let topic = self.topics.events(streams::ORDERS);
        let all = self.orders.len() * usize::try_from(self.appended).unwrap();
        let published = eventually("all of them", async || {
            let published = first_occurrences(&self.broker.messages(&topic).await);
            (published.values().map(Vec::len).sum::<usize>() == all).then_some(published)
        })
        .await;
        let expected: BTreeMap<_, _> =
            self.orders.iter().map(|order| (order.uuid(), history(self.appended))).collect();
        assert_eq!(published, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_outage_keeps_first_occurrences_in_order() {
    let mut outage = Outage::prepare().await;
    let relay = outage.relay();
    outage.append_events(5).await;
    outage.assert_all_are_published_in_order().await;
    let before = progress(&outage.database).await;

    outage.append_events(5).await; // some of these may be under way
    outage.broker.kill().await;
    outage.append_events(20).await;
    outage.broker.start_again().await;
    outage.append_events(5).await;
    outage.assert_all_are_published_in_order().await;
    assert_eq!(
        progress(&outage.database).await.epoch,
        before.epoch,
        "the relay waits for the end of the outage within one term"
    );
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_starts_without_a_broker_waits_for_it() {
    let mut outage = Outage::prepare().await;
    outage.broker.stop().await;
    outage.append_events(5).await;
    let relay = outage.relay();
    eventually("an active relay", async || (progress(&outage.database).await.epoch == 1).then_some(())).await;
    outage.broker.start_again().await;
    outage.assert_all_are_published_in_order().await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unacknowledged_event_is_sent_again() {
    let mut outage = Outage::prepare().await;
    outage.broker.stop().await;
    outage.append_events(1).await;
    // A relay sends the events, and stops before the broker has acknowledged one.
    let mut epoch = 0;
    loop {
        let relay = outage.relay();
        eventually("a term", async || (progress(&outage.database).await.epoch > epoch).then_some(())).await;
        relay.stop().await;
        let stopped = progress(&outage.database).await;
        if stopped.gaps == "{[1,9)}" {
            break; // the relay has sent all eight, and none counts as published
        }
        assert_eq!(stopped.position, 0, "{stopped:?}");
        epoch = stopped.epoch;
    }
    outage.broker.start_again().await;
    let relay = outage.relay();
    outage.assert_all_are_published_in_order().await;
    relay.stop().await;
}
