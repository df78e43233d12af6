//! Each parked message is copied to the dead-letter topic, with any content.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed};
use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{Envelope, Message, MessageParked, header};
use inbox::{Consumer, HandlerError, no_locks};
use messaging::topics::{TopicSpec, ensure};
use messaging::{ReceivedMessage, admin};
use outbox::{MAX_PAYLOAD, Relay, RelaySettings};
use testkit::{Background, TestDatabase, TestTopics, eventually};
use uuid::Uuid;

use crate::common::{
    CONSUMER, TestRecord, audited, cancelled, confirmed, database, effects, parked, publish, random, record,
    record_effect, run, wait_until_done,
};

/// A topic with one partition.
const SAME: &str = "the same partition";

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Confirmed orders take effect. Cancelled ones are refused with a very long error.
fn wordy() -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await)
        .on(no_locks, async |_: &mut Tx, _: &Message<OrderCancelled>| {
            Err(HandlerError::Refused("no\0 \u{1} é ".repeat(200_000)))
        })
}

async fn relay(database: &TestDatabase, topics: &TestTopics) -> Background {
    ensure(&topics.brokers(), &[TopicSpec::new(topics.dead_letters(CONSUMER), 1)]).await.unwrap();
    let (database, brokers) = (database.second_instance(), topics.brokers());
    let relay = Relay::new(database, brokers, (**topics).clone(), RelaySettings::default());
    Background::run(|stop| async move { relay.run(stop).await })
}

/// Reads this number of dead letters.
async fn dead_letters(topics: &TestTopics, number: usize) -> Vec<(ReceivedMessage, MessageParked)> {
    let topic = topics.dead_letters(CONSUMER);
    let read = async || {
        let records = admin::read_all(&topics.brokers(), &topic).await.ok()?;
        (records.len() >= number).then_some(records)
    };
    let records = eventually(&format!("{number} dead letters"), read).await.into_iter();
    records
        .map(|received| {
            let copy = serde_json::from_slice(received.payload.as_ref().unwrap()).unwrap();
            (received, copy)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_message_is_copied_to_the_dead_letter_topic() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let relay = relay(&database, &topics).await;
    let (order, bystander) = (OrderId::generate(), OrderId::generate());
    let garbled = record(&topics, 1, &confirmed(order)).saying("{\"order\":");
    let garbled = garbled.with(header::TRACEPARENT, TRACE.as_bytes()).keyed(SAME);
    let runner = run(&database, &topics, wordy());
    publish(&topics, &[garbled, record(&topics, 1, &confirmed(bystander)).keyed(SAME)]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    let records = dead_letters(&topics, 1).await;
    relay.stop().await;

    let [(received, copy)] = &records[..] else { panic!("{records:#?}") };
    let envelope = Envelope::from_headers(|name| received.header(name)).unwrap();
    let stored = &parked(&database).await[0];
    assert_eq!((envelope.kind.as_str(), envelope.source.as_str()), ("inventory.MessageParked.v1", CONSUMER));
    assert_eq!((envelope.aggregate, envelope.sequence), (stored.message_id, 1));
    assert_eq!((envelope.tenant.as_str(), envelope.traceparent.as_deref()), ("acme", Some(TRACE)));
    assert_eq!((copy.consumer.as_str(), copy.message_id), (CONSUMER, stored.message_id));
    assert_eq!((copy.source.as_str(), copy.aggregate_id, copy.sequence), ("orders", order.uuid(), 1));
    assert_eq!(copy.topic, topics.events(contracts::streams::ORDERS));
    assert_eq!(Some(&copy.error), stored.error.as_ref());
    let payload = STANDARD.decode(copy.payload_base64.as_ref().unwrap()).unwrap();
    assert_eq!((payload.as_slice(), copy.payload_bytes), (b"{\"order\":".as_slice(), 9));
    assert_eq!(copy.headers[1], (header::TYPE.to_owned(), "orders.OrderConfirmed.v1".to_owned()));
    assert_eq!(effects(&database).await, [(bystander.uuid(), 1)]);
    audited(&database).await;
}

diesel::table! {
    outbox_event (event_id) {
        event_id -> Uuid,
        aggregate_id -> Uuid,
        topic -> Text,
        tenant_id -> Text,
        payload -> Binary,
    }
}

/// Messages with parts that are too large, not text, or not storable.
#[tokio::test(flavor = "multi_thread")]
async fn no_message_can_prevent_its_parking_or_its_copy() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let new = || record(&topics, 1, &confirmed(OrderId::generate())).keyed(SAME);
    let large = random(990_000);
    let mut many = new().saying("x");
    many.headers.extend((0..5_000).map(|n| (format!("header-{n}"), b"\x01\x02\x03".to_vec())));
    let failing = [
        new().saying(&large),
        TestRecord { payload: vec![0xff; 990_000], ..new() },
        new().with("binary", b"\0\xff\xfe").saying("\0"),
        new().with("long", large.as_bytes()).saying("x"),
        many,
        new().with(header::SOURCE, random(10_000).as_bytes()),
        new().with(header::TYPE, random(10_000).as_bytes()),
        new().with(header::TRACEPARENT, random(10_000).as_bytes()).saying("x"),
        new().with(header::TENANT, b"\xff\xff"),
        record(&topics, 1, &cancelled(OrderId::generate())).keyed(SAME),
        TestRecord { headers: Vec::new(), ..new() },
    ];
    let bystander = OrderId::generate();
    let mut records = failing.to_vec();
    records.push(record(&topics, 1, &confirmed(bystander)).keyed(SAME));
    let runner = run(&database, &topics, wordy());
    publish(&topics, &records).await;
    wait_until_done(&topics).await;
    runner.stop().await;

    assert_eq!(effects(&database).await, [(bystander.uuid(), 1)]);
    let parked = parked(&database).await;
    assert_eq!(parked.len(), failing.len(), "{:#?}", parked.iter().map(|row| &row.error).collect::<Vec<_>>());
    let copies: Vec<(Uuid, String, String, Vec<u8>)> = outbox_event::table
        .select((
            outbox_event::aggregate_id,
            outbox_event::topic,
            outbox_event::tenant_id,
            outbox_event::payload,
        ))
        .load(&mut database.connection().await.unwrap())
        .await
        .unwrap();
    assert_eq!(copies.len(), failing.len());
    for (id, topic, tenant, payload) in copies {
        assert_eq!(topic, "inventory.dlq");
        assert!(payload.len() <= MAX_PAYLOAD && ["acme", "unknown"].contains(&tenant.as_str()), "{tenant}");
        let copy: MessageParked = serde_json::from_slice(&payload).unwrap();
        let original = parked.iter().find(|row| row.message_id == id).unwrap();
        assert_eq!(copy.payload_bytes, original.payload.len() as u64);
        if original.payload.len() > MAX_PAYLOAD {
            assert_eq!((copy.payload_base64, copy.payload_sha256.map(|hash| hash.len())), (None, Some(64)));
        } else {
            assert_eq!(STANDARD.decode(copy.payload_base64.unwrap()).unwrap(), original.payload);
        }
    }
    audited(&database).await;

    // The relay publishes every copy.
    let relay = relay(&database, &topics).await;
    assert_eq!(dead_letters(&topics, failing.len()).await.len(), failing.len());
    relay.stop().await;
}
