//! One member of a group: a batch is either done, or delivered again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{A_WHILE, Scratch, in_time, next, no_broker, range};
use messaging::{Brokers, ReceivedMessage, Subscription, SubscriptionSettings};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::sync::mpsc;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_holds_the_messages_of_one_partition_in_order() {
    let scratch = Scratch::new(3).await;
    scratch.fill(200).await;
    let mut subscription = scratch.subscribe(scratch.settings());
    let mut seen = BTreeSet::new();
    while seen.len() < 200 {
        let batch = next(&mut subscription).await;
        assert_eq!(batch.topic(), scratch.topic);
        assert!(batch.messages().is_sorted_by_key(|message| message.offset));
        for message in batch.messages() {
            assert_eq!((&*message.topic, message.partition), (batch.topic(), batch.partition()));
            assert!(seen.insert(message.payload.clone().unwrap()), "nothing comes twice");
        }
        batch.done();
    }
    scratch.wait_until_committed(200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_dropped_undone_comes_again() {
    let scratch = Scratch::new(1).await;
    scratch.fill(30).await;
    let settings = SubscriptionSettings { max_batch: 10, ..scratch.settings() };
    let mut subscription = scratch.subscribe(settings);
    next(&mut subscription).await.done();
    for _ in 0..3 {
        let batch = next(&mut subscription).await;
        assert_eq!(range(&batch), (10, 19));
        drop(batch);
    }
    let (first, rest) = (next(&mut subscription).await, scratch.settings().redelivery_delay);
    let dropped = Instant::now();
    drop(first);
    let again = next(&mut subscription).await;
    assert!(dropped.elapsed() >= rest, "it rests before it comes again");
    assert_eq!(range(&again), (10, 19));
    again.done();
    assert_eq!(range(&next(&mut subscription).await), (20, 29));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_may_wait_is_delivered_with_the_next_one() {
    let scratch = Scratch::new(1).await;
    let (read, mut is_read) = mpsc::unbounded_channel();
    let may_wait = move |message: &ReceivedMessage| {
        read.send(message.offset).unwrap();
        message.offset == 0
    };
    let settings = SubscriptionSettings {
        may_wait: Arc::new(may_wait),
        longest_wait: Duration::from_hours(1),
        ..scratch.settings()
    };
    let mut subscription = scratch.subscribe(settings);
    scratch.fill(1).await;
    assert_eq!(in_time("the first message", is_read.recv()).await, Some(0));
    scratch.fill(1).await;
    assert_eq!(range(&next(&mut subscription).await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_may_wait_is_delivered_alone_at_last() {
    let scratch = Scratch::new(1).await;
    let settings = SubscriptionSettings {
        may_wait: Arc::new(|_| true),
        longest_wait: Duration::from_millis(10),
        ..scratch.settings()
    };
    let mut subscription = scratch.subscribe(settings);
    scratch.fill(1).await;
    assert_eq!(range(&next(&mut subscription).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_panics_gives_its_batch_back() {
    let scratch = Scratch::new(1).await;
    scratch.fill(1).await;
    let mut subscription = scratch.subscribe(scratch.settings());
    let batch = next(&mut subscription).await;
    let worker = std::thread::spawn(move || {
        let _batch = batch;
        panic!("on purpose");
    });
    assert!(worker.join().is_err());
    assert_eq!(range(&next(&mut subscription).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_stored_only_for_batches_that_are_done() {
    let scratch = Scratch::new(1).await;
    scratch.fill(30).await;
    let settings = SubscriptionSettings { max_batch: 10, ..scratch.settings() };
    let mut first = scratch.subscribe(settings.clone());
    next(&mut first).await.done();
    let unfinished = next(&mut first).await;
    first.shutdown().await;
    assert_eq!(scratch.committed().await, 10, "leaving commits what was done");
    unfinished.done(); // too late: the runner has stopped

    let mut second = scratch.subscribe(settings);
    let batch = next(&mut second).await;
    assert_eq!(range(&batch), (10, 19), "the next member continues exactly there");
    batch.done();
    next(&mut second).await.done();
    second.shutdown().await;
    assert_eq!(scratch.committed().await, 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_one_batch_of_a_partition_is_out_and_partitions_do_not_wait_for_each_other() {
    let scratch = Scratch::new(2).await;
    scratch.fill(100).await;
    let mut subscription = scratch.subscribe(SubscriptionSettings { max_batch: 5, ..scratch.settings() });
    let slow = next(&mut subscription).await;
    let mut expected = 0;
    for _ in 0..5 {
        let batch = next(&mut subscription).await;
        assert_ne!(batch.partition(), slow.partition());
        assert_eq!(batch.messages()[0].offset, expected);
        expected += 5;
        batch.done();
    }
    let other = next(&mut subscription).await;
    assert_ne!(other.partition(), slow.partition());
    assert!(
        tokio::time::timeout(A_WHILE, subscription.next()).await.is_err(),
        "both partitions have one out"
    );
    let freed = slow.partition();
    slow.done();
    let batch = next(&mut subscription).await;
    assert_eq!((batch.partition(), range(&batch)), (freed, (5, 9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_ends_at_its_limit_of_bytes() {
    let scratch = Scratch::new(1).await;
    let (publisher, mut reports) = scratch.publisher();
    for token in 0..10 {
        publisher.publish(scratch.record(b"k", &vec![b'x'; 1000]), token).unwrap();
    }
    for _ in 0..10 {
        in_time("a delivery report", reports.next()).await.unwrap().result.unwrap();
    }
    let mut subscription =
        scratch.subscribe(SubscriptionSettings { max_batch_bytes: 2500, ..scratch.settings() });
    assert_eq!(range(&next(&mut subscription).await), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_batch_does_not_evict_the_member() {
    let scratch = Scratch::new(1).await;
    scratch.fill(10).await;
    let mut subscription = scratch.subscribe(scratch.settings());
    let batch = next(&mut subscription).await;
    assert_eq!(range(&batch), (0, 9));
    tokio::time::sleep(Duration::from_secs(8)).await; // longer than the limits of 6 s: the database is away
    batch.done();
    // A member that was evicted could not commit this, and would read the batch again.
    scratch.wait_until_committed(10).await;
    scratch.fill(1).await;
    assert_eq!(range(&next(&mut subscription).await), (10, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_key_headers_or_body_is_delivered_like_any_other() {
    let scratch = Scratch::new(1).await;
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", scratch.brokers.bootstrap());
    let producer: BaseProducer = config.create().unwrap();
    let bare: BaseRecord<'_, (), ()> = BaseRecord::to(&scratch.topic);
    producer.send(bare).unwrap();
    producer.flush(common::TIMEOUT).unwrap();
    let mut subscription = scratch.subscribe(scratch.settings());
    let batch = next(&mut subscription).await;
    let [message] = batch.messages() else { panic!("{:?}", batch.messages()) };
    assert_eq!((&message.key, &message.payload, message.headers.len()), (&None, &None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_created_later_is_found() {
    let scratch = Scratch::without_topic();
    let mut subscription = scratch.subscribe(scratch.settings());
    assert!(tokio::time::timeout(A_WHILE, subscription.next()).await.is_err());
    let topic = messaging::topics::TopicSpec::new(&scratch.topic, 1);
    messaging::topics::ensure(&scratch.brokers, &[topic]).await.unwrap();
    scratch.fill(1).await;
    assert_eq!(range(&next(&mut subscription).await), (0, 0));
}

/// A cluster in this process, with one record in its topic `t`.
fn cluster_with_a_record() -> (MockCluster<'static, DefaultProducerContext>, Brokers) {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 1, 1).unwrap();
    let brokers: Brokers = cluster.bootstrap_servers().parse().unwrap();
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", brokers.bootstrap());
    let producer: BaseProducer = config.create().unwrap();
    producer.send(BaseRecord::to("t").key("k").payload("v")).unwrap();
    producer.flush(common::TIMEOUT).unwrap();
    (cluster, brokers)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_comes_again_while_the_brokers_are_away() {
    let (cluster, brokers) = cluster_with_a_record();
    let settings = SubscriptionSettings {
        redelivery_delay: Duration::from_millis(50),
        ..SubscriptionSettings::new("g", ["t"])
    };
    let mut subscription = Subscription::start(&brokers, settings).unwrap();
    let batch = next(&mut subscription).await;
    cluster.broker_down(1).unwrap();
    drop(batch);
    assert_eq!(range(&next(&mut subscription).await), (0, 0));
    let begun = Instant::now();
    subscription.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(12), "leaving does not wait for the brokers for ever");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_read_after_its_committed_offset_could_not_be_fetched() {
    let (cluster, brokers) = cluster_with_a_record();
    let moved = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
    cluster.request_errors(RDKafkaApiKey::OffsetFetch, &[moved]);
    let mut subscription = Subscription::start(&brokers, SubscriptionSettings::new("g", ["t"])).unwrap();
    assert_eq!(range(&next(&mut subscription).await), (0, 0));
}

#[tokio::test]
async fn dropping_a_subscription_does_not_block() {
    let scratch = Scratch::new(1).await;
    scratch.fill(1).await;
    let mut subscription = scratch.subscribe(scratch.settings());
    let _batch = next(&mut subscription).await;
    let begun = Instant::now();
    drop(subscription);
    assert!(begun.elapsed() < Duration::from_millis(50), "leaving a group takes a round trip at least");
}

#[tokio::test]
async fn brokers_that_are_away_hold_up_neither_start_nor_end() {
    let begun = Instant::now();
    let mut subscription = Subscription::start(&no_broker(), SubscriptionSettings::new("g", ["t"])).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(tokio::time::timeout(A_WHILE, subscription.next()).await.is_err());
    in_time("leaving", subscription.shutdown()).await;
    assert!(begun.elapsed() < Duration::from_secs(12));
}
