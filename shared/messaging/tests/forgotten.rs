//! A broker that names no broker makes librdkafka forget its brokers. Another client then takes the place of the first one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::HashSet;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use common::{Scratch, in_time, next};
use messaging::{Brokers, Publisher, Subscription};
use testkit::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_goes_on_with_another_client_after_its_client_has_forgotten_its_brokers() {
    let scratch = Scratch::new(1).await;
    scratch.fill(1).await;
    let broker = StoppingBroker::before(&scratch.brokers).await;
    let mut subscription = Subscription::start(&broker.brokers, scratch.settings()).unwrap();
    let first = next(&mut subscription).await;
    // The client commits this batch, and waits for the response before it leaves its group.
    tokio::join!(broker.stop(), async { first.done() });
    scratch.fill(1).await;
    while next(&mut subscription).await.messages().last().unwrap().offset != 1 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reports_of_a_publisher_end_after_its_client_has_forgotten_its_brokers() {
    let (scratch, other) = (Scratch::new(1).await, Scratch::new(1).await);
    let broker = StoppingBroker::before(&scratch.brokers).await;
    let (publisher, mut reports) = Publisher::connect(&broker.brokers).unwrap();
    publisher.publish(scratch.record(b"k", b"v"), 1).unwrap();
    in_time("a delivery report", reports.next()).await.unwrap().result.unwrap();
    let record = other.record(b"k", b"v"); // the client asks about a topic that it does not know yet
    tokio::join!(broker.stop(), async { publisher.publish(record, 2).unwrap() });
    while let Some(report) = in_time("the reports end", reports.next()).await {
        assert!(report.result.is_err(), "no broker has acknowledged it");
    }
    publisher.publish(record, 3).unwrap(); // the client itself reports no error
}

/// A proxy before a broker. [`stop`](Self::stop) imitates the last broker of a cluster that stops: the broker answers a question about a
/// topic, and names no broker.
struct StoppingBroker {
    brokers: Brokers,
    proxy: Proxy,
    line: Arc<Line>,
    /// Serves until it is dropped.
    _serving: JoinSet<()>,
}

impl StoppingBroker {
    async fn before(brokers: &Brokers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::to(listener.local_addr().unwrap().to_string()).await;
        let line = Arc::new(Line {
            upstream: brokers.bootstrap().to_owned(),
            port: proxy.address().port(),
            stopping: AtomicBool::new(false),
            forgotten: Notify::new(),
        });
        let mut serving = JoinSet::new();
        let of_connections = Arc::clone(&line);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(Arc::clone(&of_connections).connect(client));
            }
        });
        // librdkafka begins again with the configured brokers, but not in every order of events. This rules it out.
        let forget_for_good = [("metadata.recovery.strategy", "none")];
        let brokers = Brokers::new(&proxy.address().to_string(), forget_for_good).unwrap();
        Self { brokers, proxy, line, _serving: serving }
    }

    /// Stops, and starts again once a client has forgotten it.
    async fn stop(&self) {
        self.line.stopping.store(true, Ordering::SeqCst);
        in_time("the client forgets its brokers", self.line.forgotten.notified()).await;
        self.proxy.cut().await;
        self.line.stopping.store(false, Ordering::SeqCst);
        self.proxy.mend();
    }
}

/// The state that all connections of the proxy share.
struct Line {
    /// The real broker, and the port that its clients learn instead of its own.
    upstream: String,
    port: u16,
    /// True while the broker stops: its answers about topics name no broker, and the proxy drops commits and questions for the coordinator.
    stopping: AtomicBool,
    /// A client was told of no broker, and has closed its connection.
    forgotten: Notify,
}

impl Line {
    async fn connect(self: Arc<Self>, client: TcpStream) {
        let Ok(broker) = TcpStream::connect(&self.upstream).await else { return };
        let (from_client, mut to_client) = client.into_split();
        let (from_broker, to_broker) = broker.into_split();
        let about_topics = Mutex::default();
        let mut requests = pin!(self.requests(from_client, to_broker, &about_topics));
        tokio::select! {
            _ = &mut requests => {}
            Ok(()) = self.responses(from_broker, &mut to_client, &about_topics) => {
                let _ = requests.await; // the client has read the answer, and closes the connection
                self.forgotten.notify_one();
            }
        }
    }

    /// Forwards the client's requests, and notes those about topics.
    async fn requests(
        &self,
        mut client: OwnedReadHalf,
        mut broker: OwnedWriteHalf,
        about_topics: &Mutex<HashSet<CorrelationId>>,
    ) -> io::Result<()> {
        loop {
            let request = frame(&mut client).await?;
            match int16(&request, 0) {
                OFFSET_COMMIT | FIND_COORDINATOR if self.stopping.load(Ordering::SeqCst) => continue,
                METADATA if names_a_topic(&request) => {
                    about_topics.lock().unwrap().insert(request[4..8].to_vec());
                }
                _ => {}
            }
            send(&mut broker, &request).await?;
        }
    }

    /// Forwards the broker's responses, with the port of this double in place of its own. Ends once it has named no broker.
    async fn responses(
        &self,
        mut broker: OwnedReadHalf,
        client: &mut OwnedWriteHalf,
        about_topics: &Mutex<HashSet<CorrelationId>>,
    ) -> io::Result<()> {
        let address = |port: u16| [HOST, &i32::from(port).to_be_bytes()].concat();
        let (_, own_port) = self.upstream.rsplit_once(':').unwrap();
        let (own, ours) = (address(own_port.parse().unwrap()), address(self.port));
        loop {
            let mut response = frame(&mut broker).await?;
            if let Some(at) = response.windows(own.len()).position(|bytes| bytes == own) {
                response[at..at + own.len()].copy_from_slice(&ours);
            }
            let is_about_topics = about_topics.lock().unwrap().remove(&response[..4]);
            let names_nobody = is_about_topics && self.stopping.load(Ordering::SeqCst);
            if names_nobody {
                remove_the_broker(&mut response);
            }
            send(client, &response).await?;
            if names_nobody {
                return Ok(());
            }
        }
    }
}

/// The bytes 4 to 7 of a request, and the first ones of its response.
type CorrelationId = Vec<u8>;

const HOST: &[u8] = b"127.0.0.1";
const METADATA: i16 = 3;
const OFFSET_COMMIT: i16 = 8;
const FIND_COORDINATOR: i16 = 10;

/// Returns whether a request for metadata, of version 9 or later, names a topic.
fn names_a_topic(request: &[u8]) -> bool {
    // Behind the client's id and an empty list of tags follows the number of topics, plus one.
    request[10 + usize::try_from(int16(request, 8)).unwrap() + 1] > 1
}

/// Takes the only broker out of a response to a request for metadata, of version 9 or later.
fn remove_the_broker(response: &mut Vec<u8>) {
    const BROKERS: usize = 9; // behind the correlation id (4 bytes), tags (1), and a time (4)
    assert_eq!(response[BROKERS], 2, "the number of brokers, plus one");
    response[BROKERS] = 1;
    // Its id (4 bytes), its host behind its length, its port (4), no rack, and no tags.
    let broker = 4 + 1 + HOST.len() + 4 + 1 + 1;
    response.drain(BROKERS + 1..=BROKERS + broker);
}

fn int16(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A request or a response, without its length.
async fn frame(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(from.read_u32().await?).unwrap()];
    from.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn send(to: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    to.write_u32(bytes.len().try_into().unwrap()).await?;
    to.write_all(bytes).await
}
