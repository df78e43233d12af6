//! Appending one event: it is part of its transaction, complete in its topic, and never too large for it.

use contracts::events::OrderConfirmed;
use contracts::{OrderId, streams};
use database::UnitOfWork;
use envelope::{Event, Stream, header};
use futures_util::FutureExt;
use outbox::{AppendError, MAX_PAYLOAD};
use serde::{Deserialize, Serialize};
use testkit::{TestDatabase, TestTopics};
use uuid::Uuid;

use crate::common::{append_one, confirmed, relay, rows, settings, tenant, text, wait_for};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// An event of any size.
#[derive(Serialize, Deserialize)]
struct Text {
    order: OrderId,
    text: String,
}

impl Event for Text {
    const TYPE: &'static str = "orders.Text.v1";
    const STREAM: Stream = streams::ORDERS;
    const AGGREGATE: &'static str = "order";

    fn aggregate(&self) -> Uuid {
        self.order.uuid()
    }
}

fn with_text(text: String) -> Text {
    Text { order: OrderId::generate(), text }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_arrives_as_it_was_appended() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let event = confirmed(OrderId::generate());
    let mut tx = database.begin().await.unwrap();
    tx.set_traceparent(Some(TRACE.to_owned()));
    let id = outbox::append(&mut tx, &tenant(), 7, &event).unwrap();
    tx.set_traceparent(None); // a later request does not change the event
    tx.commit().await.unwrap();

    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    let [message] = topics.messages(streams::ORDERS).await.try_into().unwrap();
    assert_eq!(message.key, Some(event.order.to_string().into_bytes()));
    assert_eq!(serde_json::from_slice::<OrderConfirmed>(&message.payload.clone().unwrap()).unwrap(), event);
    for (name, value) in [
        (header::ID, id.to_string()),
        (header::TYPE, OrderConfirmed::TYPE.to_owned()),
        (header::SOURCE, "orders".to_owned()),
        (header::SUBJECT, event.order.to_string()),
        (header::SEQUENCE, "7".to_owned()),
        (header::TENANT, "acme".to_owned()),
        (header::TRACEPARENT, TRACE.to_owned()),
    ] {
        assert_eq!(text(&message, name), value, "{name}");
    }
    assert!(database::time::from_rfc3339(&text(&message, header::TIME)).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_event_is_never_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relay = relay(&database, &topics, settings());
    let [undone, partly, kept] = [OrderId::generate(), OrderId::generate(), OrderId::generate()];

    let mut tx = database.begin().await.unwrap();
    crate::common::write(&mut tx, 1, &confirmed(undone)).await;
    tx.rollback().await.unwrap();

    let mut tx = database.begin().await.unwrap();
    let refused: Result<(), database::Error> = tx
        .savepoint(async |tx| {
            crate::common::write(tx, 1, &confirmed(partly)).await;
            Err(database::Error::Poisoned)
        })
        .await;
    refused.unwrap_err();
    crate::common::write(&mut tx, 1, &confirmed(kept)).await;
    tx.commit().await.unwrap();

    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    let published: Vec<String> =
        topics.messages(streams::ORDERS).await.iter().map(|message| text(message, header::SUBJECT)).collect();
    assert_eq!(published, [kept.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_events_wakes_the_relay_and_nothing_else_does() {
    let database = TestDatabase::plain().await;
    let signal = database.wake_up(outbox::EVENTS_COMMITTED);
    let mut tx = database.begin().await.unwrap();
    crate::common::write(&mut tx, 1, &confirmed(OrderId::generate())).await;
    tx.rollback().await.unwrap();
    database.begin().await.unwrap().commit().await.unwrap();
    assert!(signal.notified().now_or_never().is_none(), "no event was committed");
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    assert!(signal.notified().now_or_never().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_event_is_refused_before_it_is_written() {
    let database = TestDatabase::plain().await;
    let event = with_text("x".repeat(MAX_PAYLOAD));
    let mut tx = database.begin().await.unwrap();
    let refused = outbox::append(&mut tx, &tenant(), 1, &event).unwrap_err();
    assert!(
        matches!(&refused, AppendError::TooLarge { kind, size } if kind == Text::TYPE && *size > MAX_PAYLOAD),
        "{refused}"
    );
    tx.commit().await.unwrap(); // even if the caller commits after the error
    assert_eq!(rows(&database).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_event_that_is_accepted_can_be_published() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let around = serde_json::to_vec(&with_text(String::new())).unwrap().len();
    // Text that does not compress.
    let noise = || Uuid::new_v4().simple().to_string();
    let text: String = std::iter::repeat_with(noise).take(MAX_PAYLOAD / 32).collect();
    append_one(&database, 1, &with_text(text[..MAX_PAYLOAD - around].to_owned())).await;

    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 1).await;
    relay.stop().await;
    let [message] = topics.messages(streams::ORDERS).await.try_into().unwrap();
    assert_eq!(message.payload.unwrap().len(), MAX_PAYLOAD);
}
