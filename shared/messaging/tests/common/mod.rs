//! Gives each test its own topic and group, and deletes both when the test ends.
#![allow(dead_code, reason = "each test file uses a part")]

use std::future::Future;
use std::time::Duration;

use messaging::topics::{self, TopicSpec};
use messaging::{
    Batch, Brokers, DeliveryReports, Publisher, Record, Subscription, SubscriptionSettings, admin,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// An address without a listener.
pub(crate) const NO_BROKER: &str = "127.0.0.1:1";

/// How long a test waits for an expected event.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a test waits to see that an event does not happen.
pub(crate) const A_WHILE: Duration = Duration::from_millis(700);

pub(crate) fn brokers() -> Brokers {
    let addresses = std::env::var("IDEM_KAFKA_BROKERS").expect(
        "these tests need a Kafka broker: set IDEM_KAFKA_BROKERS=host:port, or run them by `./dev test`",
    );
    Brokers::from_environment(&addresses).unwrap()
}

pub(crate) fn no_broker() -> Brokers {
    NO_BROKER.parse().unwrap()
}

pub(crate) async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.unwrap_or_else(|_| panic!("{what}: not within {TIMEOUT:?}"))
}

/// A topic, and a group that may read it.
pub(crate) struct Scratch {
    pub(crate) brokers: Brokers,
    pub(crate) topic: String,
    pub(crate) group: String,
}

impl Scratch {
    pub(crate) async fn new(partitions: i32) -> Self {
        let scratch = Self::without_topic();
        topics::ensure(&scratch.brokers, &[TopicSpec::new(&scratch.topic, partitions)]).await.unwrap();
        scratch
    }

    pub(crate) fn without_topic() -> Self {
        let name = format!("messaging-test-{}", uuid::Uuid::new_v4());
        Self { brokers: brokers(), topic: name.clone(), group: name }
    }

    pub(crate) fn settings(&self) -> SubscriptionSettings {
        SubscriptionSettings {
            commit_interval: Duration::from_millis(100),
            redelivery_delay: Duration::from_millis(50),
            ..SubscriptionSettings::new(&self.group, [&self.topic])
        }
    }

    pub(crate) fn subscribe(&self, settings: SubscriptionSettings) -> Subscription {
        Subscription::start(&self.brokers, settings).unwrap()
    }

    pub(crate) fn publisher(&self) -> (Publisher, DeliveryReports) {
        Publisher::connect(&self.brokers).unwrap()
    }

    /// Publishes `count` records with keys 0, 1, 2, … and the same text as payload; returns once all are
    /// acknowledged.
    pub(crate) async fn fill(&self, count: u64) {
        let (publisher, mut reports) = self.publisher();
        for number in 0..count {
            let text = number.to_string();
            publisher.publish(self.record(text.as_bytes(), text.as_bytes()), number).unwrap();
        }
        for _ in 0..count {
            in_time("a delivery report", reports.next()).await.unwrap().result.unwrap();
        }
    }

    pub(crate) fn record<'a>(&'a self, key: &'a [u8], payload: &'a [u8]) -> Record<'a> {
        Record { topic: &self.topic, key, payload, headers: &[] }
    }

    /// Returns the sum of the group's committed offsets over all partitions.
    pub(crate) async fn committed(&self) -> i64 {
        let offsets = admin::committed_offsets(&self.brokers, &self.group, &self.topic).await.unwrap();
        offsets.values().map(|offset| offset.unwrap_or(0)).sum()
    }

    pub(crate) async fn wait_until_committed(&self, expected: i64) {
        in_time("the committed offset", async {
            while self.committed().await != expected {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        testkit::clear_shared_broker(&self.topic);
    }
}

pub(crate) async fn next(subscription: &mut Subscription) -> Batch {
    in_time("a batch", subscription.next()).await.expect("the subscription has ended")
}

/// The first and last offset of a batch.
pub(crate) fn range(batch: &Batch) -> (i64, i64) {
    (batch.messages().first().unwrap().offset, batch.messages().last().unwrap().offset)
}

/// Lets clients reach the brokers through this listener, from now until it is dropped.
pub(crate) fn forward(listener: std::net::TcpListener, brokers: &Brokers) -> JoinSet<()> {
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    let target = brokers.bootstrap().to_owned();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let target = target.clone();
            connections.spawn(async move {
                if let Ok(mut broker) = TcpStream::connect(target).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut broker).await;
                }
            });
        }
    });
    tasks
}
