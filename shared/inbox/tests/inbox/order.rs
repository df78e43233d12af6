//! The messages of an aggregate are applied in the order of their sequences. The order of arrival does not matter.

use contracts::events::{ItemChanged, OrderCancelled, OrderConfirmed};
use contracts::{ItemId, OrderId};
use database::Tx;
use envelope::Message;
use inbox::{Consumer, no_locks};
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{
    CONSUMER, Operator, cancelled, changed, confirmed, database, effects, parked, publish, record,
    record_effect, recording, run, wait_for_effects, wait_until_done,
};

#[tokio::test(flavor = "multi_thread")]
async fn swapped_messages_of_an_aggregate_are_applied_in_order() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let [order, other] = [OrderId::generate(), OrderId::generate()];
    let swapped = [2, 1].map(|sequence| record(&topics, sequence, &confirmed(order)));
    let backwards = [5, 4, 3, 2, 1].map(|sequence| record(&topics, sequence, &confirmed(other)));
    publish(&topics, &[&swapped[..], &backwards[..]].concat()).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let effects = effects(&database).await;
    let of = |wanted: OrderId| -> Vec<i64> {
        effects.iter().filter(|(order, _)| *order == wanted.uuid()).map(|(_, sequence)| *sequence).collect()
    };
    assert_eq!((of(order), of(other)), (vec![1, 2], vec![1, 2, 3, 4, 5]));
    assert!(parked(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_too_early_is_held_until_the_missing_one_has_come() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, other) = (OrderId::generate(), OrderId::generate());
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[3, 4, 6].map(|sequence| record(&topics, sequence, &confirmed(order)))).await;
    eventually("three held messages", async || (parked(&database).await.len() == 3).then_some(())).await;
    publish(&topics, &[record(&topics, 1, &confirmed(other)).keyed(&order.to_string())]).await;
    wait_for_effects(&database, 1).await; // no other message waits

    publish(&topics, &[1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)))).await;
    wait_for_effects(&database, 5).await;
    let held = parked(&database).await;
    assert_eq!(
        held.iter().map(|held| (held.sequence, held.state.as_str())).collect::<Vec<_>>(),
        [(6, "held")]
    );
    publish(&topics, &[record(&topics, 5, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    let sequences: Vec<(bool, i64)> =
        effects(&database).await.into_iter().map(|(of, sequence)| (of == order.uuid(), sequence)).collect();
    assert_eq!(sequences, [(false, 1), (true, 1), (true, 2), (true, 3), (true, 4), (true, 5), (true, 6)]);
    assert!(parked(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_message_counts_in_its_aggregates_history() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    publish(
        &topics,
        &[
            record(&topics, 3, &confirmed(order)),
            record(&topics, 1, &confirmed(order)),
            record(&topics, 2, &cancelled(order)),
        ],
    )
    .await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1), (order.uuid(), 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projection_takes_the_newest_and_ignores_the_stale() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let item = ItemId::from(OrderId::generate().uuid());
    publish(&topics, &[1, 3, 2, 4, 7].map(|sequence| record(&topics, sequence, &changed(item)))).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 3, 4, 7].map(|sequence| (item.uuid(), sequence)));
    assert!(parked(&database).await.is_empty());
}

/// The topic may have lost the beginning of their histories.
#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_message_waits_only_for_messages_that_are_handled_in_order() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (item, order) = (ItemId::from(OrderId::generate().uuid()), OrderId::generate());
    let consumer = Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await)
        .ignoring::<OrderCancelled>()
        .ignoring::<ItemChanged>();
    let records = [record(&topics, 7, &changed(item)), record(&topics, 2, &cancelled(order))];
    publish(&topics, &records).await;
    let runner = run(&database, &topics, consumer);
    wait_until_done(&topics).await;
    let held: Vec<_> =
        parked(&database).await.into_iter().map(|row| (row.aggregate_id, row.sequence)).collect();
    assert_eq!(held, [(order.uuid(), 2)]);
    publish(&topics, &[record(&topics, 1, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert!(parked(&database).await.is_empty());
}

/// A program that handles an item's messages in order holds number 4. The next version of the program takes the newest, and
/// receives this number.
async fn held_before_the_newest(database: &TestDatabase, topics: &TestTopics, number: i64) -> ItemId {
    let item = ItemId::from(OrderId::generate().uuid());
    let in_order = Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<ItemChanged>| record_effect(tx, "one", m).await);
    publish(topics, &[record(topics, 4, &changed(item))]).await;
    let runner = run(database, topics, in_order);
    wait_until_done(topics).await;
    runner.stop().await;
    assert_eq!(parked(database).await.len(), 1);
    let runner = run(database, topics, recording("one"));
    publish(topics, &[record(topics, number, &changed(item))]).await;
    wait_until_done(topics).await;
    runner.stop().await;
    item
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_held_follows_the_newest_before_it() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let item = held_before_the_newest(&database, &topics, 3).await;
    assert_eq!(effects(&database).await, [3, 4].map(|sequence| (item.uuid(), sequence)));
    assert!(parked(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_whose_number_has_passed_is_removed_by_redrive_and_discard() {
    for command in ["redrive", "discard"] {
        let (database, topics) = (database().await, TestTopics::create().await);
        let item = held_before_the_newest(&database, &topics, 7).await;
        let waiting = parked(&database).await;
        assert_eq!(waiting.iter().map(|it| (it.sequence, &*it.state)).collect::<Vec<_>>(), [(4, "held")]);
        let operator = Operator::new(&database, &topics, recording("operator"));
        let (done, report) = operator.does(&format!("{command} {}", waiting[0].message_id)).await;
        assert!(done, "{report:#}");
        if command == "redrive" {
            let superseded = &report["aggregates"][0]["superseded"];
            assert_eq!(superseded.as_array().map(Vec::len), Some(1), "{report:#}");
        }
        assert!(parked(&database).await.is_empty());
        assert_eq!(effects(&database).await, [(item.uuid(), 7)]);
    }
}

#[test]
#[should_panic(expected = "need different orders")]
fn types_of_one_aggregate_are_handled_in_order_or_by_the_newest() {
    let _ = Consumer::of(CONSUMER)
        .on(no_locks, async |_: &mut Tx, _: &Message<OrderConfirmed>| Ok(()))
        .newest(no_locks, async |_: &mut Tx, _: &Message<OrderCancelled>| Ok(()));
}

#[test]
#[should_panic(expected = "registers orders.OrderCancelled.v1 twice")]
fn a_type_has_one_handler() {
    let _ = Consumer::of(CONSUMER)
        .on(no_locks, async |_: &mut Tx, _: &Message<OrderCancelled>| Ok(()))
        .ignoring::<OrderCancelled>();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_message_that_comes_again_is_held_once() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let [first, second] = [1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    let runner = run(&database, &topics, recording("one"));
    for _ in 0..2 {
        publish(&topics, std::slice::from_ref(&second)).await;
        wait_until_done(&topics).await;
        assert_eq!(
            parked(&database).await.iter().map(|row| row.state.as_str()).collect::<Vec<_>>(),
            ["held"]
        );
    }
    publish(&topics, &[first, second]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1), (order.uuid(), 2)]);
    assert!(parked(&database).await.is_empty());
}
