//! Administration: topics, health, offsets and groups.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Scratch, next, no_broker, range};
use messaging::topics::{TopicSpec, ensure};
use messaging::{Error, admin, health};

#[tokio::test(flavor = "multi_thread")]
async fn ensure_is_idempotent_also_for_many_at_once() {
    let scratch = Scratch::without_topic();
    let specs = [TopicSpec::new(&scratch.topic, 3)];
    let (a, b, c) = tokio::join!(
        ensure(&scratch.brokers, &specs),
        ensure(&scratch.brokers, &specs),
        ensure(&scratch.brokers, &specs),
    );
    a.unwrap();
    b.unwrap();
    c.unwrap();
    scratch.fill(10).await;
    ensure(&scratch.brokers, &specs).await.unwrap();
    let ends = admin::end_offsets(&scratch.brokers, &scratch.topic).await.unwrap();
    assert_eq!((ends.len(), ends.values().sum::<i64>()), (3, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_may_have_more_partitions_but_not_fewer() {
    let scratch = Scratch::new(3).await;
    let error = ensure(&scratch.brokers, &[TopicSpec::new(&scratch.topic, 6)]).await.unwrap_err();
    assert!(matches!(error, Error::PartitionCount { expected: 6, found: 3, .. }));
    let text = error.to_string();
    assert!(text.contains(&scratch.topic) && text.contains("set the number to 3"), "{text}");
    ensure(&scratch.brokers, &[TopicSpec::new(&scratch.topic, 2)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_record_that_has_left_the_log_the_start_of_the_log_is_readable() {
    let scratch = Scratch::new(1).await;
    scratch.fill(3).await;
    testkit::remove_records(&scratch.topic).await;
    scratch.fill(1).await;
    let next = async |offset| admin::next_readable(&scratch.brokers, &scratch.topic, 0, offset).await;
    assert_eq!((next(0).await.unwrap(), next(3).await.unwrap()), (3, 3));
    assert!(matches!(next(4).await, Err(Error::Refused { .. })), "not written yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_responds_is_healthy_and_an_absent_one_is_not() {
    health(&common::brokers(), Duration::from_secs(10)).await.unwrap();
    let error = health(&no_broker(), Duration::from_millis(300)).await.unwrap_err();
    assert!(
        matches!(error, Error::Unreachable { .. }) && error.to_string().contains(common::NO_BROKER),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewound_group_begins_again_but_not_under_its_members_feet() {
    let scratch = Scratch::new(1).await;
    scratch.fill(10).await;
    let none = BTreeMap::from([(0, None)]);
    assert_eq!(
        admin::committed_offsets(&scratch.brokers, &scratch.group, &scratch.topic).await.unwrap(),
        none
    );
    let mut subscription = scratch.subscribe(scratch.settings());
    next(&mut subscription).await.done();
    scratch.wait_until_committed(10).await;

    let first = admin::GroupOffsets::from([((scratch.topic.clone(), 0), 0)]);
    let error = admin::set_group_offsets(&scratch.brokers, &scratch.group, &first).await.unwrap_err();
    assert!(matches!(error, Error::GroupActive { .. }), "{error}");
    assert_eq!(scratch.committed().await, 10);

    subscription.shutdown().await;
    admin::set_group_offsets(&scratch.brokers, &scratch.group, &first).await.unwrap();
    assert_eq!(scratch.committed().await, 0);
    let mut subscription = scratch.subscribe(scratch.settings());
    assert_eq!(range(&next(&mut subscription).await), (0, 9));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_groups_members_are_named_and_moments_have_offsets() {
    let scratch = Scratch::new(1).await;
    scratch.fill(10).await;
    let (brokers, group, topic) = (&scratch.brokers, &scratch.group, &scratch.topic);
    assert!(admin::members(brokers, group).await.unwrap().is_empty());
    let mut subscription = scratch.subscribe(scratch.settings());
    next(&mut subscription).await.done();
    let members = admin::members(brokers, group).await.unwrap();
    assert!(matches!(&members[..], [member] if member.contains(" at ")), "{members:?}");
    scratch.wait_until_committed(10).await;
    subscription.shutdown().await;

    let messages = admin::read_all(brokers, topic).await.unwrap();
    let fifth = messages[5].timestamp.unwrap();
    let first = messages.iter().position(|message| message.timestamp.unwrap() >= fifth).unwrap();
    let since = async |moment| admin::offsets_since(brokers, topic, moment).await.unwrap()[&0];
    assert_eq!(since(None).await, 0);
    assert_eq!(since(Some(fifth)).await, i64::try_from(first).unwrap());
    assert_eq!(since(Some(i64::from(u32::MAX) * 1000)).await, 10, "no message is that new");
    let offsets = admin::GroupOffsets::from([((topic.clone(), 0), 7)]);
    admin::set_group_offsets(brokers, group, &offsets).await.unwrap();
    assert_eq!(scratch.committed().await, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_topic_is_read_by_partition_and_offset() {
    let scratch = Scratch::new(4).await;
    assert_eq!(admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap(), []);
    scratch.fill(100).await;
    let messages = admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap();
    assert_eq!(messages.len(), 100);
    assert!(messages.is_sorted_by_key(|message| (message.partition, message.offset)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_one_partition_is_read_from_a_time_on_and_up_to_a_number_of_offsets() {
    let scratch = Scratch::new(1).await;
    let (brokers, topic) = (&scratch.brokers, &scratch.topic);
    scratch.fill(10).await;
    let all = admin::read_all(brokers, topic).await.unwrap();
    let fifth = all[5].timestamp.unwrap();
    let first = all.iter().position(|message| message.timestamp.unwrap() >= fifth).unwrap();
    let read = async |since, most| admin::read_since(brokers, topic, 0, since, most).await.unwrap();
    assert_eq!(read(fifth, 100).await, all[first..]);
    assert_eq!(read(0, 3).await, all[..3]);
    assert_eq!(read(i64::from(u32::MAX) * 1000, 3).await, [], "no message is that new");
    let error = admin::read_since(brokers, topic, 7, 0, 3).await.unwrap_err();
    assert!(error.to_string().contains("there is no such partition"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_named() {
    let scratch = Scratch::without_topic();
    for error in [
        admin::read_all(&scratch.brokers, &scratch.topic).await.unwrap_err(),
        admin::end_offsets(&scratch.brokers, &scratch.topic).await.unwrap_err(),
        admin::committed_offsets(&scratch.brokers, &scratch.group, &scratch.topic).await.unwrap_err(),
        admin::offsets_since(&scratch.brokers, &scratch.topic, None).await.unwrap_err(),
    ] {
        assert!(matches!(&error, Error::UnknownTopic { topic } if *topic == scratch.topic), "{error}");
    }
}
