//! The publisher against a real broker: order, bounds, and what happens when it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use common::{Scratch, in_time, no_broker};
use messaging::{PublishError, Publisher, Record, Refusal, admin};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

#[tokio::test(flavor = "multi_thread")]
async fn acknowledgements_arrive_in_order_per_partition() {
    let scratch = Scratch::new(3).await;
    let (publisher, mut reports) = scratch.publisher();
    for token in 0..2_000 {
        let key = (token % 17).to_string();
        publisher.publish(scratch.record(key.as_bytes(), token.to_string().as_bytes()), token).unwrap();
    }
    let mut last: BTreeMap<i32, (u64, Option<i64>)> = BTreeMap::new();
    for _ in 0..2_000 {
        let report = in_time("a delivery report", reports.next()).await.unwrap();
        let metadata = report.result.unwrap();
        let before = last.insert(metadata.partition, (report.token, metadata.offset));
        assert!(before.is_none_or(|(token, offset)| token < report.token && offset < metadata.offset));
    }
    assert_eq!(last.len(), 3, "all partitions are in use");

    let mut by_key: BTreeMap<Option<Vec<u8>>, Vec<u64>> = BTreeMap::new();
    for message in admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap() {
        let token = String::from_utf8(message.payload.unwrap()).unwrap().parse().unwrap();
        by_key.entry(message.key).or_default().push(token);
    }
    assert_eq!(by_key.len(), 17);
    assert!(by_key.values().all(|tokens| tokens.is_sorted()), "the records of a key are in order");
    assert_eq!(by_key.values().map(Vec::len).sum::<usize>(), 2_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_says_full_and_nothing_is_lost() {
    let scratch = Scratch::new(1).await;
    let (publisher, mut reports) = scratch.publisher();
    let mut tokens = BTreeSet::new();
    let mut full = 0;
    for token in 0..10_500 {
        while let Err(error) = publisher.publish(scratch.record(b"k", token.to_string().as_bytes()), token) {
            assert_eq!(error, PublishError::Full);
            full += 1;
            let report = in_time("a delivery report", reports.next()).await.unwrap();
            assert!(report.result.is_ok() && tokens.insert(report.token), "{report:?}");
        }
    }
    assert_eq!(full, 500, "nothing was read before the queue was full");
    while tokens.len() < 10_500 {
        let report = in_time("a delivery report", reports.next()).await.unwrap();
        assert!(report.result.is_ok() && tokens.insert(report.token), "{report:?}");
    }
    let stored = admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap();
    let stored: Vec<Vec<u8>> = stored.into_iter().map(|message| message.payload.unwrap()).collect();
    let expected: Vec<Vec<u8>> = (0..10_500).map(|token: u64| token.to_string().into_bytes()).collect();
    assert_eq!(stored, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_arrives_byte_for_byte() {
    let scratch = Scratch::new(1).await;
    let (publisher, mut reports) = scratch.publisher();
    let headers: &[(&str, &[u8])] =
        &[("ce_id", b"1"), ("empty", b""), ("binary", &[0, 255]), ("ce_id", b"2")];
    let record = Record { topic: &scratch.topic, key: &[0, 1, 255], payload: &[255, 0], headers };
    publisher.publish(record, 1).unwrap();
    publisher.publish(Record { key: b"", payload: b"", headers: &[], ..record }, 2).unwrap();
    in_time("two delivery reports", async { (reports.next().await, reports.next().await) }).await;

    let messages = admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap();
    let [full, empty] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((full.partition, full.offset, &*full.topic), (0, 0, scratch.topic.as_str()));
    assert_eq!(
        (full.key.as_deref(), full.payload.as_deref()),
        (Some([0, 1, 255].as_slice()), Some([255, 0].as_slice()))
    );
    let received: Vec<(&str, &[u8])> =
        full.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    assert_eq!(received, headers);
    assert_eq!(full.header("ce_id"), Some(b"2".as_slice()));
    assert!(full.timestamp.is_some());
    assert_eq!((empty.offset, empty.headers.len()), (1, 0));
    assert_eq!(
        (empty.key.as_deref(), empty.payload.as_deref()),
        (Some(b"".as_slice()), Some(b"".as_slice()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_lands_in_the_partition_that_java_clients_choose() {
    let scratch = Scratch::new(6).await;
    let (publisher, mut reports) = scratch.publisher();
    // From the tests of Kafka's own murmur2.
    let known: [(&str, i32); 4] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("abc", 479_470_107),
    ];
    for (token, (key, _)) in (0..).zip(known) {
        publisher.publish(scratch.record(key.as_bytes(), b"x"), token).unwrap();
    }
    for _ in known {
        let report = in_time("a delivery report", reports.next()).await.unwrap();
        let (key, hash) = known[usize::try_from(report.token).unwrap()];
        assert_eq!(report.result.unwrap().partition, (hash & i32::MAX) % 6, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_never_fits_is_refused_at_once() {
    let scratch = Scratch::without_topic();
    let (publisher, mut reports) = scratch.publisher();
    let payload = vec![0; 1_100_000];
    let reason =
        format!("a record of 1100001 bytes for {} is larger than `message.max.bytes`", scratch.topic);
    let refusal = PublishError::Refused(Refusal { reason, unusable_topic: None });
    // The last attempt is not `Full`, because a refused record is not outstanding.
    for _ in 0..=10_000 {
        let refused = publisher.publish(scratch.record(b"k", &payload), 1).unwrap_err();
        assert_eq!(refused, refusal);
    }
    drop(publisher);
    assert_eq!(in_time("the end of the reports", reports.next()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purged_message_is_reported_as_unknown() {
    let (publisher, mut reports) = Publisher::connect(&no_broker()).unwrap();
    for token in 0..3 {
        publisher.publish(Record { topic: "t", key: b"k", payload: b"v", headers: &[] }, token).unwrap();
    }
    publisher.purge();
    for _ in 0..3 {
        let report = in_time("a delivery report", reports.next()).await.unwrap();
        assert!(report.result.unwrap_err().to_string().contains("may or may not"));
    }
}

#[tokio::test]
async fn dropping_a_publisher_does_not_block_and_ends_the_acknowledgements() {
    let (publisher, mut reports) = Publisher::connect(&no_broker()).unwrap();
    publisher.publish(Record { topic: "t", key: b"k", payload: b"v", headers: &[] }, 7).unwrap();
    let begun = Instant::now();
    drop(publisher);
    assert!(begun.elapsed() < Duration::from_millis(50), "the client's own drop takes half a second");
    let report = in_time("the report of the record under way", reports.next()).await.unwrap();
    assert!(report.token == 7 && report.result.is_err());
    assert_eq!(in_time("the end of the reports", reports.next()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fatal_error_is_reported_by_every_call() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 1, 1).unwrap();
    let refusals = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED; 3];
    cluster.request_errors(RDKafkaApiKey::InitProducerId, &refusals);
    let brokers = cluster.bootstrap_servers().parse().unwrap();
    let (publisher, mut reports) = Publisher::connect(&brokers).unwrap();
    let record = Record { topic: "t", key: b"k", payload: b"v", headers: &[] };
    publisher.publish(record, 1).unwrap();
    let report = in_time("the report of the record under way", reports.next()).await.unwrap();
    assert!(report.token == 1 && report.result.is_err());
    assert!(matches!(publisher.publish(record, 2), Err(PublishError::Fatal { .. })));
}
