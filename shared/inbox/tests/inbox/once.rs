//! A message takes effect once, however often it is delivered. Its effect, event and fact commit together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contracts::OrderId;
use contracts::events::{OrderConfirmed, StockReserved};
use database::Tx;
use diesel_async::SimpleAsyncConnection;
use envelope::{Message, header};
use inbox::{Consumer, no_locks};
use testkit::TestTopics;

use crate::common::{
    CONSUMER, Fix, Operator, cancelled, confirmed, count, database, effects, parked, publish, record,
    record_effect, recording, rewind, run, wait_for_effects, wait_until_done,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivered_message_takes_effect_once() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let [first, second, third] = [1, 2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)));
    // A replaced relay publishes earlier messages again, after later ones.
    publish(&topics, &[first.clone(), first.clone(), second.clone(), first, third, second]).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let once = [1, 2, 3].map(|sequence| (order.uuid(), sequence));
    assert_eq!(effects(&database).await, once);

    rewind(&topics).await;
    let runner = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, once);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_message_whose_id_was_trimmed_is_still_a_duplicate() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let orders = [OrderId::generate(), OrderId::generate()];
    let records: Vec<_> = orders
        .iter()
        .flat_map(|order| [record(&topics, 1, &cancelled(*order)), record(&topics, 2, &confirmed(*order))])
        .collect();
    publish(&topics, &records).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let once = effects(&database).await;
    assert_eq!(once.len(), 2);

    let mut owner = database.owner().await;
    owner.batch_execute("DELETE FROM inbox_message").await.unwrap();
    rewind(&topics).await;
    let runner = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, once);
    assert!(parked(&database).await.is_empty());
}

/// The first message is parked and the second is held. Their ids are deleted with age, and both are delivered again: before the
/// bug is fixed, and after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_message_whose_id_was_trimmed_still_waits_and_does_not_stop_its_partition() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, fix) = (OrderId::generate(), Fix::default());
    let waiting = [1, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    let runner = run(&database, &topics, fix.consumer());
    publish(&topics, &waiting).await;
    wait_until_done(&topics).await;
    for is_fixed in [false, true] {
        if is_fixed {
            fix.come();
        }
        database.owner().await.batch_execute("DELETE FROM inbox_message").await.unwrap();
        publish(&topics, &waiting).await;
        wait_until_done(&topics).await;
        let states: Vec<_> =
            parked(&database).await.into_iter().map(|row| (row.sequence, row.state)).collect();
        assert_eq!(states, [(1, "parked".to_owned()), (2, "held".to_owned())], "fixed: {is_fixed}");
        assert_eq!(effects(&database).await, []);
    }
    let copies = "SELECT count(*) AS count FROM outbox_event WHERE topic LIKE '%.dlq'";
    assert_eq!(count(&database, copies).await, 1);
    let operator = Operator::new(&database, &topics, fix.consumer());
    assert!(operator.does("redrive --all").await.0);
    runner.stop().await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1), (order.uuid(), 2)]);
    assert!(parked(&database).await.is_empty());
}

/// Records the effect, appends an event, and panics while `fails` is true.
fn reserving(fails: impl Fn() -> bool + Clone + Send + Sync + 'static) -> Consumer {
    Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
        record_effect(tx, "one", m).await?;
        let event = StockReserved { order: m.order };
        outbox::append(tx, m.tenant(), 1, &event)?;
        tx.flush().await?; // so that the row is there when the handler fails
        assert!(!fails(), "not yet");
        Ok(())
    })
}

const EVENTS: &str = "SELECT count(*) AS count FROM outbox_event WHERE topic LIKE '%.events'";
const IDS: &str = "SELECT count(*) AS count FROM inbox_message";

#[tokio::test(flavor = "multi_thread")]
async fn effects_events_and_ids_commit_together() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    // The three runs: the whole batch, and two attempts of the single message.
    let runner = run(&database, &topics, reserving(move || counted.fetch_add(1, Ordering::SeqCst) < 2));
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_for_effects(&database, 1).await;
    runner.stop().await;
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    assert_eq!(effects(&database).await.len(), 1);
    assert_eq!((count(&database, EVENTS).await, count(&database, IDS).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_fails_leaves_neither_effect_nor_event() {
    let (database, topics) = (database().await, TestTopics::create().await);
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    let runner = run(&database, &topics, reserving(|| true));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, []);
    assert_eq!(count(&database, EVENTS).await, 0);
    assert_eq!(parked(&database).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_event_carries_the_trace_of_its_message() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let [traced, untraced] =
        [(); 2].map(|()| record(&topics, 1, &confirmed(OrderId::generate())).keyed("same batch"));
    publish(&topics, &[traced.with(header::TRACEPARENT, trace.as_bytes()), untraced]).await;
    let runner = run(&database, &topics, reserving(|| false));
    wait_until_done(&topics).await;
    runner.stop().await;
    let same = format!("SELECT count(*) AS count FROM outbox_event WHERE traceparent = '{trace}'");
    assert_eq!(count(&database, &same).await, 1);
    assert_eq!(
        count(&database, "SELECT count(*) AS count FROM outbox_event WHERE traceparent IS NULL").await,
        1
    );
}
