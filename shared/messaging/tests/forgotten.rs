//! A broker that names no broker makes librdkafka forget its brokers. Another client then takes the place of the first one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::io;

use common::in_time;
use messaging::{Brokers, Publisher, Record, Subscription, SubscriptionSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const TOPIC: &str = "forgotten";

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_goes_on_with_another_client_after_its_client_has_forgotten_its_brokers() {
    let mut broker = StoppingBroker::start().await;
    let settings = SubscriptionSettings::new("group", [TOPIC]);
    let _subscription = Subscription::start(&broker.brokers, settings).unwrap();
    for client in ["first", "second"] {
        in_time(&format!("the {client} client asks for brokers"), broker.is_asked(Metadata::Itself)).await;
        in_time(&format!("the {client} client asks for the topic"), broker.is_asked(Metadata::NoBroker))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reports_of_a_publisher_end_after_its_client_has_forgotten_its_brokers() {
    let mut broker = StoppingBroker::start().await;
    let (publisher, mut reports) = Publisher::connect(&broker.brokers).unwrap();
    in_time("the client asks for brokers", broker.is_asked(Metadata::Itself)).await;
    let record = Record { topic: TOPIC, key: b"k", payload: b"v", headers: &[] };
    publisher.publish(record, 1).unwrap();
    in_time("the client asks for the topic", broker.is_asked(Metadata::NoBroker)).await;
    while let Some(report) = in_time("the reports end", reports.next()).await {
        assert!(report.result.is_err(), "no broker has acknowledged it");
    }
    publisher.publish(record, 2).unwrap(); // the client itself reports no error
}

/// A double that speaks as much of Kafka's protocol as a client needs to forget it: its answer about a topic names no broker.
struct StoppingBroker {
    brokers: Brokers,
    answered: mpsc::UnboundedReceiver<Metadata>,
    /// Serves until it is dropped.
    _serving: JoinSet<()>,
}

/// An answer of the double about brokers. A client that has forgotten its brokers sends no request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Metadata {
    Itself,
    NoBroker,
}

impl StoppingBroker {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, answered) = mpsc::unbounded_channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(answer(connection, port, tell.clone()));
            }
        });
        // librdkafka begins again with the configured brokers, but not in every order of events. This rules it out.
        let forget_for_good = [("metadata.recovery.strategy", "none")];
        Self {
            brokers: Brokers::new(&format!("127.0.0.1:{port}"), forget_for_good).unwrap(),
            answered,
            _serving: serving,
        }
    }

    /// Waits until the double gives this answer.
    async fn is_asked(&mut self, expected: Metadata) {
        while self.answered.recv().await.unwrap() != expected {}
    }
}

/// Answers the requests of a connection until the client closes it.
async fn answer(
    mut client: TcpStream,
    port: u16,
    answered: mpsc::UnboundedSender<Metadata>,
) -> io::Result<()> {
    loop {
        let mut request = vec![0; usize::try_from(client.read_u32().await?).unwrap()];
        client.read_exact(&mut request).await?;
        let metadata = match (int16(&request, 0), int16(&request, 2)) {
            (API_VERSIONS, _) => None,
            (METADATA, 1) if metadata_topics(&request) > 0 => Some(Metadata::NoBroker),
            (METADATA, 1) => Some(Metadata::Itself),
            other => panic!("the client asks what this double does not know: {other:?}"),
        };
        let mut response = request[4..8].to_vec(); // the correlation id
        response.extend(match metadata {
            None => supported_versions(int16(&request, 2)),
            Some(Metadata::Itself) => itself_and_no_topic(port),
            Some(Metadata::NoBroker) => no_broker_and_a_topic(),
        });
        client.write_u32(response.len().try_into().unwrap()).await?;
        client.write_all(&response).await?;
        if let Some(metadata) = metadata {
            let _ = answered.send(metadata);
        }
    }
}

const METADATA: i16 = 3;
const API_VERSIONS: i16 = 18;
const UNSUPPORTED_VERSION: i16 = 35;

fn int16(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// How many topics a request for metadata names, behind the id of its client.
fn metadata_topics(request: &[u8]) -> i16 {
    let client_id = usize::try_from(int16(request, 8)).unwrap();
    int16(request, 10 + client_id + 2) // the lower half of a number of 32 bits
}

/// Version 0 of both requests, and version 1 of metadata. Other versions of this request itself are refused.
fn supported_versions(asked: i16) -> Vec<u8> {
    let error = if asked == 0 { 0 } else { UNSUPPORTED_VERSION };
    let mut body = error.to_be_bytes().to_vec();
    body.extend(2_i32.to_be_bytes());
    for number in [METADATA, 0, 1, API_VERSIONS, 0, 0] {
        body.extend(number.to_be_bytes());
    }
    body
}

fn itself_and_no_topic(port: u16) -> Vec<u8> {
    let mut body = 1_i32.to_be_bytes().to_vec(); // brokers
    body.extend(1_i32.to_be_bytes()); // its id
    body.extend(string("127.0.0.1"));
    body.extend(i32::from(port).to_be_bytes());
    body.extend((-1_i16).to_be_bytes()); // no rack
    body.extend(1_i32.to_be_bytes()); // the controller
    body.extend(0_i32.to_be_bytes()); // topics
    body
}

fn no_broker_and_a_topic() -> Vec<u8> {
    let mut body = 0_i32.to_be_bytes().to_vec(); // brokers
    body.extend((-1_i32).to_be_bytes()); // no controller
    body.extend(1_i32.to_be_bytes()); // topics
    body.extend(0_i16.to_be_bytes()); // no error
    body.extend(string(TOPIC));
    body.push(0); // not internal
    body.extend(0_i32.to_be_bytes()); // partitions
    body
}

fn string(text: &str) -> Vec<u8> {
    let length = i16::try_from(text.len()).unwrap();
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}
