//! The order of an aggregate's events with many concurrent writers.

use std::collections::BTreeMap;
use std::time::Duration;

use contracts::{OrderId, streams};
use database::{Database, Tx};
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use outbox::RelaySettings;
use testkit::{TestDatabase, TestTopics, eventually};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::common::{
    confirmed, count, first_occurrences, history, progress, relay, settings, short_lived, tenant, wait_for,
};

diesel::table! {
    /// An aggregate. Writers lock its row.
    tally (id) {
        id -> Uuid,
        sequence -> BigInt,
    }
}

const WRITERS: usize = 8;
const EVENTS: usize = 50;

/// Rows whose transaction began to write before that of a row with a smaller id of the same aggregate.
const INVERSIONS: &str = "SELECT count(*) AS count FROM outbox_event early JOIN outbox_event late \
     ON early.aggregate_id = late.aggregate_id AND early.id < late.id AND early.xid > late.xid";

async fn tallies(database: &TestDatabase, of: &[OrderId]) {
    let mut owner = database.owner().await;
    owner
        .batch_execute("CREATE TABLE tally (id uuid PRIMARY KEY, sequence bigint NOT NULL); GRANT ALL ON tally TO idem_service")
        .await
        .unwrap();
    for order in of {
        let row = (tally::id.eq(order.uuid()), tally::sequence.eq(0));
        diesel::insert_into(tally::table).values(row).execute(&mut owner).await.unwrap();
    }
}

/// Assigns the transaction its xid before it locks the aggregate, as an insert into another table would.
async fn draw_number(tx: &mut Tx) {
    diesel::sql_query("SELECT pg_current_xact_id()").execute(tx).await.unwrap();
}

/// Locks the aggregate and appends its next event.
async fn append_next(tx: &mut Tx, order: OrderId) {
    let sequence: i64 = diesel::update(tally::table.find(order.uuid()))
        .set(tally::sequence.eq(tally::sequence + 1))
        .returning(tally::sequence)
        .get_result(tx)
        .await
        .unwrap();
    outbox::append(tx, &tenant(), sequence, &confirmed(order)).unwrap();
}

/// Appends events of all orders, one transaction each, while `more` returns true. All writers use the orders in the same
/// sequence, so that they compete for the same rows. Returns the number of events.
async fn write(database: Database, orders: Vec<OrderId>, more: impl Fn(usize) -> bool) -> usize {
    let mut appended = 0;
    while more(appended) {
        let mut tx = database.begin().await.unwrap();
        draw_number(&mut tx).await;
        append_next(&mut tx, orders[appended % orders.len()]).await;
        tx.commit().await.unwrap();
        appended += 1;
    }
    appended
}

/// Returns the expected sequences by aggregate.
async fn expected(database: &Database) -> BTreeMap<Uuid, Vec<i64>> {
    let mut connection = database.connection().await.unwrap();
    let rows: Vec<(Uuid, i64)> = tally::table.load(&mut connection).await.unwrap();
    rows.into_iter().map(|(order, sequence)| (order, history(sequence))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_sent_in_the_order_of_ids_not_of_transactions() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    tallies(&database, &[order]).await;
    let mut first_number = database.begin().await.unwrap();
    draw_number(&mut first_number).await;
    let mut second_number = database.begin().await.unwrap();
    draw_number(&mut second_number).await;
    append_next(&mut second_number, order).await;
    second_number.commit().await.unwrap();
    append_next(&mut first_number, order).await;
    first_number.commit().await.unwrap();
    assert_eq!(count(&database, INVERSIONS).await, 1);

    let relay = relay(&database, &topics, settings());
    wait_for(&topics, streams::ORDERS, 2).await;
    relay.stop().await;
    assert_eq!(
        first_occurrences(&topics.messages(streams::ORDERS).await),
        BTreeMap::from([(order.uuid(), history(2))])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_aggregate_is_published_in_order_under_many_writers() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(2).collect();
    tallies(&database, &orders).await;
    let relay = relay(&database, &topics, settings());
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write((*database).clone(), orders.clone(), |appended| appended < EVENTS));
    }
    writers.join_all().await;
    assert!(count(&database, INVERSIONS).await > 0, "no inversion happened, so the test shows nothing");

    wait_for(&topics, streams::ORDERS, WRITERS * EVENTS).await;
    relay.stop().await;
    let published = topics.messages(streams::ORDERS).await;
    assert_eq!(published.len(), WRITERS * EVENTS, "nothing went wrong, so nothing was sent twice");
    assert_eq!(first_occurrences(&published), expected(&database).await);
}

/// Each relay is killed after a few messages.
#[tokio::test(flavor = "multi_thread")]
async fn relays_that_die_again_and_again_lose_nothing_and_keep_the_order() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(4).collect();
    tallies(&database, &orders).await;
    let enough = CancellationToken::new();
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let enough = enough.clone();
        writers.spawn(write((*database).clone(), orders.clone(), move |_| !enough.is_cancelled()));
    }
    let settings = RelaySettings { lease: Duration::from_millis(300), ..short_lived() };
    for deaths in 1..=5 {
        let mortal = relay(&database, &topics, settings.clone());
        eventually("a relay at work", async || (progress(&database).await.epoch >= deaths).then_some(()))
            .await;
        wait_for(&topics, streams::ORDERS, topics.count(streams::ORDERS).await + 1).await;
        mortal.kill().await;
    }
    enough.cancel();
    let all = writers.join_all().await.into_iter().sum::<usize>();
    let last = relay(&database, &topics, settings);
    let published = eventually("every event", async || {
        let published = first_occurrences(&topics.messages(streams::ORDERS).await);
        (published.values().map(Vec::len).sum::<usize>() == all).then_some(published)
    })
    .await;
    last.stop().await;
    assert_eq!(published, expected(&database).await);
}

/// More rows than are read at a time, more messages than may be under way, in one transaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_larger_than_every_buffer_is_published_in_order() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    let backlog: i64 = 60_000;
    let mut owner = database.owner().await;
    diesel::sql_query(
        "INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, \
         source, tenant_id, payload) \
         SELECT gen_random_uuid(), 'orders.events', $1, 'order', $1, n, 'orders.OrderConfirmed.v1', 'orders', 'acme', '' \
         FROM generate_series(1, $2) AS n",
    )
    .bind::<diesel::sql_types::Uuid, _>(order.uuid())
    .bind::<diesel::sql_types::BigInt, _>(backlog)
    .execute(&mut owner)
    .await
    .unwrap();
    let relay = relay(&database, &topics, RelaySettings::default());
    wait_for(&topics, streams::ORDERS, usize::try_from(backlog).unwrap()).await;
    relay.stop().await;
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert!(published == BTreeMap::from([(order.uuid(), history(backlog))]), "out of order");
}
