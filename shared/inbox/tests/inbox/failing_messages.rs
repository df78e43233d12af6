//! Messages that cannot be applied: they are parked with their error, and other messages are applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced};
use database::{Database, Tx};
use diesel_async::SimpleAsyncConnection;
use envelope::{Message, header};
use inbox::{Consumer, HandlerError, no_locks};
use testkit::TestTopics;
use uuid::Uuid;

use crate::common::{
    CONSUMER, TestRecord, cancelled, confirmed, count, database, effects, parked, placed, publish, record,
    record_effect, recording, rewind, run, wait_until_done,
};

/// One partition, so that all messages are one batch.
const SAME: &str = "the same partition";

/// Confirmed orders take effect, cancelled ones are refused, and the handler of placed ones panics.
fn picky() -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderCancelled>| {
            record_effect(tx, "one", m).await?;
            Err(HandlerError::Refused("not with me".to_owned()))
        })
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderPlaced>| {
            record_effect(tx, "one", m).await?;
            panic!("a handler's bug")
        })
}

fn fine(topics: &TestTopics, sequence: i64, order: OrderId) -> TestRecord {
    record(topics, sequence, &confirmed(order)).keyed(SAME)
}

/// State and error of each waiting message, by aggregate and sequence.
async fn waiting(database: &Database) -> BTreeMap<(Uuid, i64), (String, String)> {
    let parked = parked(database).await.into_iter();
    parked.map(|row| ((row.aggregate_id, row.sequence), (row.state, row.error.unwrap_or_default()))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_message_does_not_take_its_batch_with_it() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(20).collect();
    let mut records: Vec<TestRecord> = orders.iter().map(|order| fine(&topics, 1, *order)).collect();
    let refused = OrderId::generate();
    records.insert(10, record(&topics, 1, &cancelled(refused)).keyed(SAME));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, picky());
    wait_until_done(&topics).await;
    runner.stop().await;
    let expected: Vec<(Uuid, i64)> = orders.iter().map(|order| (order.uuid(), 1)).collect();
    assert_eq!(effects(&database).await, expected);
    let waiting = waiting(&database).await;
    assert_eq!(
        waiting,
        BTreeMap::from([((refused.uuid(), 1), ("parked".to_owned(), "not with me".to_owned()))])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_applied_is_parked_and_others_flow_on() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let bystander = OrderId::generate();
    let orders: [OrderId; 8] = std::array::from_fn(|_| OrderId::generate());
    let [garbled, unknown, newer, large, headless, panicking, refused, odd] = orders;
    let failing = [
        (record(&topics, 1, &confirmed(garbled)).saying("{\"order\":"), "cannot be read"),
        (
            record(&topics, 1, &confirmed(unknown)).with(header::TYPE, b"orders.OrderFried.v1"),
            "orders.OrderFried.v1",
        ),
        (
            record(&topics, 1, &confirmed(newer)).with(header::TYPE, b"orders.OrderConfirmed.v2"),
            "orders.OrderConfirmed.v2",
        ),
        // The largest payload that a producer sends.
        (record(&topics, 1, &confirmed(large)).saying(&"x".repeat(999_000)), "cannot be read"),
        (record(&topics, 1, &confirmed(headless)).without(header::TENANT), "header ce_tenant is missing"),
        (record(&topics, 1, &placed(panicking)), "panicked"),
        (record(&topics, 1, &cancelled(refused)), "not with me"),
        // PostgreSQL's type text cannot hold a zero byte.
        (
            record(&topics, 1, &confirmed(odd)).with(header::TYPE, b"a\0b").with("binary", b"\0\xff"),
            "no handler",
        ),
    ];
    let mut records = Vec::new();
    for (sequence, (record, _)) in (1..).zip(&failing) {
        records.push(record.clone().keyed(SAME));
        records.push(fine(&topics, sequence, bystander));
    }
    records.extend(orders.iter().map(|order| fine(&topics, 2, *order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, picky());
    wait_until_done(&topics).await;
    runner.stop().await;

    assert_eq!(
        effects(&database).await,
        [1, 2, 3, 4, 5, 6, 7, 8].map(|sequence| (bystander.uuid(), sequence))
    );
    let waiting = waiting(&database).await;
    assert_eq!(waiting.len(), 16, "{waiting:#?}");
    for (order, (_, expected)) in orders.iter().zip(&failing) {
        let (state, error) = &waiting[&(order.uuid(), 1)];
        assert!(state == "parked" && error.contains(expected), "{expected}: {state}, {error}");
        assert_eq!(waiting[&(order.uuid(), 2)].0, "held", "{expected}: nothing overtakes it");
    }
    let stored = parked(&database).await;
    let kept = stored.iter().find(|row| row.aggregate_id == garbled.uuid() && row.sequence == 1).unwrap();
    assert_eq!(kept.payload, b"{\"order\":", "as it came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_its_handler_refuses_has_one_attempt() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |_: &mut Tx, _: &Message<OrderConfirmed>| {
            AtomicUsize::fetch_add(&counted, 1, Ordering::SeqCst);
            Err(HandlerError::Refused("not with me".to_owned()))
        });
    publish(&topics, &[fine(&topics, 1, OrderId::generate())]).await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(parked(&database).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_beside_a_refused_one_are_tried_once_more_together() {
    let (database, topics, order) = (database().await, TestTopics::create().await, OrderId::generate());
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let consumer =
        Consumer::of(CONSUMER).on(no_locks, async move |_: &mut Tx, m: &Message<OrderConfirmed>| {
            AtomicUsize::fetch_add(&counted, 1, Ordering::SeqCst);
            if m.envelope.sequence == 8 {
                Err(HandlerError::Refused("not with me".to_owned()))
            } else {
                Ok(())
            }
        });
    let records: Vec<_> = (1..=9).map(|sequence| fine(&topics, sequence, order)).collect();
    publish(&topics, &records).await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(runs.load(Ordering::SeqCst), 7 + 1 + 7, "seven with the eighth, and again without it");
    let waiting = waiting(&database).await;
    let states = [8, 9].map(|sequence| waiting[&(order.uuid(), sequence)].0.as_str());
    assert_eq!(states, ["parked", "held"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_a_broken_header_under_an_applied_number_holds_nothing_up() {
    let (database, topics, order) = (database().await, TestTopics::create().await, OrderId::generate());
    let mut broken = fine(&topics, 1, order);
    broken.headers.retain(|(name, _)| name != header::TENANT);
    publish(&topics, &[fine(&topics, 1, order), broken, fine(&topics, 2, order)]).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|sequence| (order.uuid(), sequence)));
    assert!(parked(&database).await.is_empty(), "its number was applied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_any_header_is_parked_once() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let bare = TestRecord { headers: Vec::new(), ..fine(&topics, 1, OrderId::generate()) };
    publish(&topics, &[bare, fine(&topics, 1, OrderId::generate())]).await;
    for _ in 0..2 {
        let runner = run(&database, &topics, recording("one"));
        wait_until_done(&topics).await;
        runner.stop().await;
        assert_eq!(effects(&database).await.len(), 1);
        assert_eq!(parked(&database).await.len(), 1);
        rewind(&topics).await;
    }
}

/// The missing message can be applied, but a held one behind it cannot.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_that_fails_is_parked_itself() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let held = [
        record(&topics, 4, &confirmed(order)).keyed(SAME),
        record(&topics, 3, &cancelled(order)).keyed(SAME),
        record(&topics, 2, &confirmed(order)).keyed(SAME),
    ];
    let runner = run(&database, &topics, picky());
    publish(&topics, &held).await;
    wait_until_done(&topics).await;
    publish(&topics, &[fine(&topics, 1, order)]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|sequence| (order.uuid(), sequence)));
    let waiting = waiting(&database).await;
    assert_eq!(waiting[&(order.uuid(), 3)], ("parked".to_owned(), "not with me".to_owned()), "{waiting:?}");
    assert_eq!(waiting[&(order.uuid(), 4)].0, "held");
    assert_eq!(waiting.len(), 2);
    assert_eq!(count(&database, "SELECT max(last_sequence) AS count FROM inbox_sequence").await, 2);
}

/// The stored headers of a held message were damaged, or a later version of the program refuses them.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_that_cannot_be_read_is_parked_itself() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[fine(&topics, 2, order)]).await;
    wait_until_done(&topics).await;
    database.owner().await.batch_execute("UPDATE inbox_parked SET headers = '[]'").await.unwrap();
    publish(&topics, &[fine(&topics, 1, order)]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1)]);
    let waiting = waiting(&database).await;
    let (state, error) = &waiting[&(order.uuid(), 2)];
    assert!(state == "parked" && error.contains("is missing"), "{waiting:?}");
}

/// Returns how many transactions have written effects.
const TRANSACTIONS: &str = "SELECT count(DISTINCT xmin::text) AS count FROM effect";

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_messages_with_a_failing_one_are_applied_by_a_few_transactions() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let mut records: Vec<TestRecord> =
        std::iter::repeat_with(|| fine(&topics, 1, OrderId::generate())).take(99).collect();
    let refused = OrderId::generate();
    records.insert(60, record(&topics, 1, &cancelled(refused)).keyed(SAME));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, picky());
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), 99);
    assert_eq!(waiting(&database).await.len(), 1);
    let transactions = count(&database, TRANSACTIONS).await;
    assert!(transactions <= 14, "{transactions}: halves of a hundred need seven, and two batches twice that");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_several_partitions_share_a_transaction() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let records: Vec<TestRecord> =
        std::iter::repeat_with(|| record(&topics, 1, &confirmed(OrderId::generate()))).take(60).collect();
    let partitions = publish(&topics, &records).await.into_iter().collect::<std::collections::BTreeSet<_>>();
    let runner = run(&database, &topics, picky());
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), 60);
    let transactions = count(&database, TRANSACTIONS).await;
    assert!(transactions < i64::try_from(partitions.len()).unwrap(), "{transactions} of {partitions:?}");
}
