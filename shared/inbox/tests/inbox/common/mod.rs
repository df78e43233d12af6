//! A consumer with countable effects, and the rows of the inbox.

mod operator;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contracts::events::{CancelReason, ItemChanged, OrderCancelled, OrderConfirmed, OrderPlaced};
use contracts::{Currency, ItemId, Money, OrderId, streams};
use database::{Database, Settings, Tx};
use diesel::QueryableByName;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::{Event, Message};
use inbox::{Consumer, HandlerError, InboxMetrics, Runner, RunnerSettings, no_locks};
use messaging::admin;
pub(crate) use testkit::confirmed;
use testkit::{Background, Metrics, TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;
use uuid::Uuid;

pub(crate) use operator::{Operator, audited, facts};
pub(crate) use testkit::{TestRecord, publish, record};

/// The name of the consumer in all these tests.
pub(crate) const CONSUMER: &str = "inventory";

diesel::table! {
    /// One row for each effect of a handler. No constraint prevents a second row.
    effect (n) {
        n -> BigInt,
        instance -> Text,
        aggregate -> Uuid,
        sequence -> BigInt,
    }
}

diesel::table! {
    inbox_parked (consumer, message_id) {
        consumer -> Text,
        message_id -> Uuid,
        source -> Text,
        aggregate_id -> Uuid,
        sequence -> BigInt,
        state -> Text,
        payload -> Binary,
        error -> Nullable<Text>,
    }
}

/// A database with the inbox and the table of effects.
pub(crate) async fn database() -> TestDatabase {
    let database = TestDatabase::plain().await;
    let mut owner = database.owner().await;
    owner
        .batch_execute(
            "CREATE TABLE effect (n bigint GENERATED ALWAYS AS IDENTITY (CACHE 1), instance text NOT NULL, \
             aggregate uuid NOT NULL, sequence bigint NOT NULL); \
             GRANT ALL ON effect TO idem_service",
        )
        .await
        .unwrap();
    database
}

/// A pool that allows slow transactions.
pub(crate) fn slow_pool(database: &TestDatabase) -> Database {
    let settings = Settings {
        idle_in_transaction_timeout: Duration::from_mins(1),
        ..Settings::new(database.service_url(None))
    };
    Database::new(&settings, Handle::current()).unwrap()
}

/// Short pauses, so that tests of retries end soon.
pub(crate) fn settings() -> RunnerSettings {
    RunnerSettings {
        attempts: 3,
        first_pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(50),
        stopped_pause: Duration::from_millis(50),
        ..RunnerSettings::default()
    }
}

pub(crate) fn run(database: &Database, topics: &TestTopics, consumer: Consumer) -> Background {
    run_with(database, topics, consumer, settings())
}

pub(crate) fn run_with(
    database: &Database,
    topics: &TestTopics,
    consumer: Consumer,
    settings: RunnerSettings,
) -> Background {
    let runner = Runner::join(database.clone(), &topics.brokers(), topics, consumer, settings).unwrap();
    Background::run(|stop| async move { runner.run(stop).await })
}

/// Records an effect for each confirmed order and for the newest change of each item. Cancelled orders have no effect.
pub(crate) fn recording(instance: &'static str) -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            record_effect(tx, instance, m).await
        })
        .newest(no_locks, async move |tx: &mut Tx, m: &Message<ItemChanged>| {
            record_effect(tx, instance, m).await
        })
        .ignoring::<OrderCancelled>()
}

/// A bug in a handler, until the test fixes it.
#[derive(Clone, Default)]
pub(crate) struct Fix(Arc<AtomicBool>);

impl Fix {
    pub(crate) fn come(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Refuses confirmed orders before the fix, and records their effect after it.
    pub(crate) fn consumer(&self) -> Consumer {
        let fixed = Arc::clone(&self.0);
        Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
            record_effect(tx, "one", m).await?;
            if AtomicBool::load(&fixed, Ordering::SeqCst) {
                return Ok(());
            }
            Err(HandlerError::Refused("a bug".to_owned()))
        })
    }
}

/// Records the effect of a message.
pub(crate) async fn record_effect<E: Event>(
    tx: &mut Tx,
    instance: &str,
    message: &Message<E>,
) -> Result<(), HandlerError> {
    let envelope = &message.envelope;
    diesel::insert_into(effect::table)
        .values((
            effect::instance.eq(instance),
            effect::aggregate.eq(envelope.aggregate),
            effect::sequence.eq(envelope.sequence),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

pub(crate) fn placed(order: OrderId) -> OrderPlaced {
    OrderPlaced { order, lines: Vec::new(), total: Money::new(1, Currency::Eur) }
}

pub(crate) fn cancelled(order: OrderId) -> OrderCancelled {
    OrderCancelled { order, reason: CancelReason::Customer }
}

pub(crate) fn changed(item: ItemId) -> ItemChanged {
    let (sku, name) = ("SKU-1".parse().unwrap(), "a thing".to_owned());
    ItemChanged { item, sku, name, unit_price: Money::new(100, Currency::Eur), version: 1 }
}

/// Returns aggregate and sequence of all effects, in the order of writing.
pub(crate) async fn effects(database: &Database) -> Vec<(Uuid, i64)> {
    let mut connection = database.connection().await.unwrap();
    effect::table
        .select((effect::aggregate, effect::sequence))
        .order(effect::n)
        .load(&mut connection)
        .await
        .unwrap()
}

/// Counts the effects of an aggregate, as this transaction sees them.
pub(crate) async fn effects_of(tx: &mut Tx, aggregate: Uuid) -> i64 {
    effect::table.filter(effect::aggregate.eq(aggregate)).count().get_result(tx).await.unwrap()
}

pub(crate) async fn wait_for_effects(database: &Database, expected: usize) {
    eventually(&format!("{expected} effects"), async || {
        (effects(database).await.len() >= expected).then_some(())
    })
    .await;
}

/// Waits until the consumer with this handle of the database waits in so many partitions.
pub(crate) async fn wait_until_stopped(database: &Database, partitions: i64) {
    eventually("partitions that wait", async || {
        let metrics = Metrics::counted::<InboxMetrics>(database);
        (metrics.count("inbox_stopped_partitions") == partitions).then_some(())
    })
    .await;
}

/// Waits until the consumer has committed all offsets.
pub(crate) async fn wait_until_done(topics: &TestTopics) {
    topics.wait_until_consumed(CONSUMER, &streams::ALL).await;
}

/// Resets the group to the first message. All members must have stopped.
pub(crate) async fn rewind(topics: &TestTopics) {
    for topic in streams::ALL.map(|stream| topics.events(stream)) {
        let first = admin::offsets_since(&topics.brokers(), &topic, None).await.unwrap();
        let first =
            first.into_iter().map(|(partition, offset)| ((topic.clone(), partition), offset)).collect();
        admin::set_group_offsets(&topics.brokers(), &topics.group(CONSUMER), &first).await.unwrap();
    }
}

/// A held or parked message.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = inbox_parked)]
pub(crate) struct Parked {
    pub(crate) message_id: Uuid,
    pub(crate) aggregate_id: Uuid,
    pub(crate) sequence: i64,
    pub(crate) state: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) error: Option<String>,
}

pub(crate) async fn parked(database: &Database) -> Vec<Parked> {
    let mut connection = database.connection().await.unwrap();
    inbox_parked::table
        .select(Parked::as_select())
        .order((inbox_parked::aggregate_id, inbox_parked::sequence))
        .load(&mut connection)
        .await
        .unwrap()
}

pub(crate) async fn count(database: &Database, query: &str) -> i64 {
    #[derive(QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }
    let mut connection = database.connection().await.unwrap();
    let found: Count = diesel::sql_query(query).get_result(&mut connection).await.unwrap();
    found.count
}

/// Text that does not compress. An index row of it must fit into a page.
pub(crate) fn random(bytes: usize) -> String {
    let ids = std::iter::repeat_with(Uuid::new_v4).take(bytes / 16);
    let mut text = STANDARD.encode(ids.flat_map(Uuid::into_bytes).collect::<Vec<u8>>());
    text.truncate(bytes);
    text
}
