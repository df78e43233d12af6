//! The log lines during an outage of the brokers. The test needs its own process, because the client's threads write the
//! lines and so the test reads them by the global subscriber.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::in_time;
use messaging::{Brokers, Publisher, Record, Subscription, SubscriptionSettings};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn with(&self, text: &str) -> usize {
        self.all().iter().filter(|line| line.contains(text)).count()
    }

    async fn wait_for(&self, text: &str, count: usize) {
        in_time(text, async {
            while self.with(text) < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An address without a broker: it closes each connection and counts the attempts.
struct Absent {
    address: SocketAddr,
    attempts: Arc<AtomicUsize>,
    hanging_up: JoinSet<()>,
}

impl Absent {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, attempts) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
        let (counted, mut hanging_up) = (Arc::clone(&attempts), JoinSet::new());
        hanging_up.spawn(async move {
            while let Ok(connection) = listener.accept().await {
                drop(connection);
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { address, attempts, hanging_up }
    }

    fn brokers(&self) -> Brokers {
        self.address.to_string().parse().unwrap()
    }

    async fn wait_for_more_attempts(&self, more: usize) {
        let enough = self.attempts.load(Ordering::Relaxed) + more;
        in_time("attempts to connect", async {
            while self.attempts.load(Ordering::Relaxed) < enough {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    /// Forwards connections to the brokers from now on.
    async fn forward(mut self, brokers: &Brokers) -> JoinSet<()> {
        self.hanging_up.shutdown().await;
        common::forward(std::net::TcpListener::bind(self.address).unwrap(), brokers)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_brokers_are_logged_once_and_waited_for() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).init();

    let scratch = common::Scratch::new(1).await;
    // One for each client, so that the attempts of both are counted.
    let (of_subscription, of_publisher) = (Absent::new().await, Absent::new().await);
    let settings = SubscriptionSettings::new(&scratch.group, [&scratch.topic]);
    let mut subscription = Subscription::start(&of_subscription.brokers(), settings).unwrap();
    let (publisher, mut reports) = Publisher::connect(&of_publisher.brokers()).unwrap();
    publisher.publish(Record { topic: &scratch.topic, key: b"k", payload: b"v", headers: &[] }, 1).unwrap();

    let away = "no Kafka broker can be reached";
    lines.wait_for(away, 2).await;
    of_subscription.wait_for_more_attempts(4).await;
    of_publisher.wait_for_more_attempts(4).await;
    assert_eq!(lines.with(away), 2, "one line for each client, not one for each attempt");
    assert_eq!((lines.with(" WARN "), lines.with(" ERROR ")), (2, 0), "{:?}", lines.all());

    let _forwarding =
        (of_subscription.forward(&scratch.brokers).await, of_publisher.forward(&scratch.brokers).await);
    assert!(in_time("the delivery report", reports.next()).await.unwrap().result.is_ok());
    assert_eq!(common::next(&mut subscription).await.messages().len(), 1);
    lines.wait_for("connected to Kafka", 2).await;
    let of_relay = |text: &str| {
        lines.all().iter().filter(|line| line.contains(text) && line.contains("idem-publisher")).count()
    };
    assert_eq!((of_relay(away), of_relay("connected to Kafka")), (1, 1), "{:?}", lines.all());
}
