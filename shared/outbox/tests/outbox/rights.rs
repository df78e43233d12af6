//! A relay whose user may not write: its events wait, and follow once it may.

use contracts::{OrderId, streams};
use envelope::Stream;
use operators::Installation;
use outbox::{OutboxMetrics, Relay};
use testkit::{Background, GuardedBroker, Metrics, TestDatabase, TestTopics, eventually};

use crate::blocked::{blocked, wait_for_blocked};
use crate::common::{
    append_one, confirmed, context, first_occurrences, history, progress, reserved, settings, wait_for,
};

/// The topics of orders and of inventory, and what the user `relay` may do with them.
struct Rights {
    broker: GuardedBroker,
    topics: TestTopics,
    database: TestDatabase,
    context: Installation,
}

impl Rights {
    async fn prepare() -> Self {
        let (broker, database) = (GuardedBroker::start().await, TestDatabase::plain().await);
        let topics = TestTopics::names_on(broker.brokers());
        topics.make(&[streams::ORDERS, streams::INVENTORY]).await;
        let context = context(&database, &topics);
        Self { broker, topics, database, context }
    }

    /// The relay knows the topic of orders, and may write that of inventory alone.
    async fn prepare_for_inventory() -> Self {
        let rights = Self::prepare().await;
        rights.change("--add", "Describe", streams::ORDERS).await;
        rights.change("--add", "Write", streams::INVENTORY).await;
        rights
    }

    async fn change(&self, change: &str, operation: &str, stream: Stream) {
        let topic = self.topics.events(stream);
        self.broker.change_rules(change, "relay", &["--operation", operation, "--topic", &topic]).await;
    }

    fn relay(&self) -> Background {
        let (database, brokers) = ((*self.database).clone(), self.broker.as_user("relay"));
        let relay = Relay::new(database, brokers, (*self.topics).clone(), settings());
        Background::run(|stop| relay.run(stop))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_the_relay_may_not_write_stop_no_other_topic_and_follow_once_it_may() {
    let rights = Rights::prepare_for_inventory().await;
    let Rights { topics, database, context, .. } = &rights;
    rights.change("--add", "Write", streams::ORDERS).await;
    let (late, mut last) = (OrderId::generate(), 1);
    append_one(database, last, &confirmed(late)).await;
    let relay = rights.relay();
    wait_for(topics, streams::ORDERS, 1).await;

    rights.change("--remove", "Write", streams::ORDERS).await;
    eventually("a refused event", async || {
        last += 1;
        append_one(database, last, &confirmed(late)).await;
        (blocked(context).await.0 > 0).then_some(())
    })
    .await;
    append_one(database, 1, &reserved(OrderId::generate())).await;
    wait_for(topics, streams::INVENTORY, 1).await;

    rights.change("--add", "Write", streams::ORDERS).await;
    wait_for(topics, streams::ORDERS, usize::try_from(last).unwrap()).await;
    wait_for_blocked(context, (0, 0)).await;
    assert_eq!(progress(database).await.epoch, 1, "no term ended");
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published, [(late.uuid(), history(last))].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_events_that_the_relay_may_not_write_one_is_tried_before_the_others() {
    const EVENTS: i64 = 20;
    let rights = Rights::prepare_for_inventory().await;
    let Rights { database, context, .. } = &rights;
    for _ in 0..EVENTS {
        append_one(database, 1, &confirmed(OrderId::generate())).await;
    }
    let relay = rights.relay();
    let refused = || Metrics::counted::<OutboxMetrics>(database).count("outbox_set_aside_events_total");
    eventually("another attempt", async || (refused() > EVENTS).then_some(())).await;
    wait_for_blocked(context, (EVENTS, EVENTS)).await;
    assert!(refused() < 2 * EVENTS, "{} refusals of {EVENTS} events", refused());
    relay.stop().await;
}

/// First it does not see the topic. Then it sees the topic, and gets no id for its producer, which ends each term.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_relay_that_may_write_no_topic_follow_once_it_may() {
    let rights = Rights::prepare().await;
    let Rights { topics, database, context, .. } = &rights;
    let order = OrderId::generate();
    append_one(database, 1, &confirmed(order)).await;
    append_one(database, 2, &confirmed(order)).await;
    let relay = rights.relay();
    wait_for_blocked(context, (2, 1)).await;
    rights.change("--add", "Describe", streams::ORDERS).await;
    eventually("a second term", async || (progress(database).await.epoch > 1).then_some(())).await;
    rights.change("--add", "Write", streams::ORDERS).await;
    wait_for(topics, streams::ORDERS, 2).await;
    wait_for_blocked(context, (0, 0)).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published, [(order.uuid(), history(2))].into());
}
