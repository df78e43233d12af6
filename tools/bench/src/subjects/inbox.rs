//! Effects of an inbox: the simplest handler writes one row for each message.

use std::time::Duration;

use contracts::events::OrderConfirmed;
use contracts::{OrderId, PaymentId};
use database::{Database, Settings, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{Event, Message, TenantId, Topics};
use inbox::{Consumer, HandlerError, Runner, RunnerSettings, no_locks};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::bare_producer::{self, OutgoingRecord};
use crate::environment::{CONSUMER, Environment, Session, TENANT, TestBed};
use crate::load::as_f64;
use crate::report::Section;
use crate::workload::Workload;
use harness::{Context, Part, Result, until};

/// The longest that all messages may take.
const LIMIT: Duration = Duration::from_mins(3);

diesel::table! {
    bench_effect (message_id) {
        message_id -> Uuid,
    }
}

/// The table of the handler.
pub(crate) const TABLE: &str = "\
    CREATE TABLE bench_effect (message_id uuid PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT clock_timestamp()); \
    GRANT INSERT ON bench_effect TO idem_service";

/// Measures how fast the rows appear.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    eprintln!("inbox: {} messages", workload.messages);
    let database = environment.postgres.database("inbox").await?;
    let topics = environment.topics("inbox");
    environment.migrate(Part::ORDERS, &database, &topics).await?;
    let owner = database.owner().await?;
    owner.run(TABLE).await?;
    let topic = environment.make_topic(&topics).await?;
    let records = records(workload.messages)?;
    tokio::task::block_in_place(|| bare_producer::publish(environment, &topic, &records))?;
    let seconds =
        apply_until(environment, &database, &topics, async || wait_for_all(&owner, workload.messages).await)
            .await?;
    let mut section = Section::default();
    section.at_least("inbox.effects_per_second", as_f64(workload.messages) / seconds, 10_000.0);
    Ok(section)
}

/// Applies the messages of these topics until the condition is true.
pub(crate) async fn apply_until<T>(
    environment: &Environment,
    database: &TestBed,
    topics: &Topics,
    condition: impl AsyncFnOnce() -> Result<T>,
) -> Result<T> {
    let pool = Database::new(&Settings::new(database.service_url.clone()), Handle::current())
        .context("make a pool")?;
    let runner = Runner::join(pool, &environment.brokers, topics, consumer(), RunnerSettings::default())
        .context("join the group")?;
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    running.spawn(runner.run(stop.clone()));
    let done = condition().await?;
    stop.cancel();
    while let Some(ended) = running.join_next().await {
        ended.context("run the inbox")?;
    }
    Ok(done)
}

/// The consumer with that handler.
fn consumer() -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, message: &Message<OrderConfirmed>| effect(tx, message).await)
}

async fn effect(tx: &mut Tx, message: &Message<OrderConfirmed>) -> std::result::Result<(), HandlerError> {
    let row = bench_effect::message_id.eq(message.envelope.id.uuid());
    diesel::insert_into(bench_effect::table).values(row).execute(tx).await?;
    Ok(())
}

/// Messages of different orders: the first message of an aggregate costs more than the next ones.
pub(crate) fn records(messages: usize) -> Result<Vec<OutgoingRecord>> {
    let tenant: TenantId = TENANT.parse().context("name the tenant")?;
    let mut records = Vec::with_capacity(messages);
    for _ in 0..messages {
        let event = OrderConfirmed { order: OrderId::generate(), payment: PaymentId::generate() };
        let payload = serde_json::to_vec(&event).context("write a message")?;
        let time = "2026-01-01T00:00:00.000000Z";
        records.push(OutgoingRecord::about(
            event.order.uuid(),
            Uuid::now_v7(),
            OrderConfirmed::TYPE,
            payload,
            &tenant,
            time,
        ));
    }
    Ok(records)
}

/// Waits for all rows; returns the seconds from the first to the last row, by the database's clock. Joining the consumer
/// group does not count.
async fn wait_for_all(owner: &Session, messages: usize) -> Result<f64> {
    let query = "SELECT count(*), extract(epoch FROM max(done_at) - min(done_at))::float8 FROM bench_effect";
    let messages = i64::try_from(messages).unwrap_or(i64::MAX);
    until(format!("{messages} messages have taken effect"), LIMIT, "the log of the broker", async || {
        let row = owner.one(query).await?;
        let (done, seconds): (i64, Option<f64>) = (row.get(0), row.get(1));
        Ok(seconds.filter(|_| done >= messages).ok_or_else(|| format!("{done} rows")))
    })
    .await
}
