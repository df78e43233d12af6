//! Effects of an inbox: the simplest reaction, one row for each message, in the batches that the runner makes.

use std::time::{Duration, Instant};

use contracts::events::OrderConfirmed;
use contracts::{Event, Message, OrderId, PaymentId, TenantId};
use database::{Database, Settings, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use inbox::{Consumer, HandlerError, Runner, RunnerSettings, no_locks};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::bare::{self, Letter};
use crate::effort::Effort;
use crate::ground::{Ground, Program, Session, TENANT, settings_of_service};
use crate::report::{Part, Ratio, Table, number};
use crate::trouble::{Doing, Trouble};

/// Whose effects they are.
pub(crate) const CONSUMER: &str = "bench";

/// The longest that the messages may take.
const PATIENCE: Duration = Duration::from_mins(3);

diesel::table! {
    bench_effect (message_id) {
        message_id -> Uuid,
    }
}

const TABLE: &str = "\
    CREATE TABLE bench_effect (message_id uuid PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT clock_timestamp()); \
    GRANT INSERT ON bench_effect TO idem_service";

/// Measures how soon they are all there.
pub(crate) async fn measure(ground: &Ground, effort: &Effort) -> Result<Part, Trouble> {
    eprintln!("inbox: {} messages", effort.messages);
    let database = ground.postgres.database("inbox").await?;
    let topics = ground.topics("inbox");
    Program::run(ground, "orders", "migrate", &settings_of_service(ground, &database, &topics)).await?;
    let owner = database.owner().await?;
    owner.run(TABLE).await?;
    let topic = ground.make_topic(&topics).await?;
    let letters = letters(effort.messages)?;
    tokio::task::block_in_place(|| bare::publish(ground, &topic, &letters))?;

    let pool = Database::new(&Settings::new(database.service_url.clone()), Handle::current())
        .doing("make a pool")?;
    let runner = Runner::new(pool, ground.brokers.clone(), topics, consumer(), RunnerSettings::default());
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    running.spawn(runner.run(stop.clone()));
    let took = wait_for_all(&owner, effort.messages).await?;
    stop.cancel();
    while let Some(ended) = running.join_next().await {
        ended.doing("run the inbox")?.doing("run the inbox")?;
    }
    Ok(report(effort, took))
}

fn consumer() -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, message: &Message<OrderConfirmed>| effect(tx, message).await)
}

async fn effect(tx: &mut Tx, message: &Message<OrderConfirmed>) -> Result<(), HandlerError> {
    let row = bench_effect::message_id.eq(message.envelope.id.uuid());
    diesel::insert_into(bench_effect::table).values(row).execute(tx).await?;
    Ok(())
}

/// Each of an order of its own, so that each begins a history: that costs more than going on with one.
fn letters(messages: usize) -> Result<Vec<Letter>, Trouble> {
    let tenant: TenantId = TENANT.parse().doing("name the tenant")?;
    let mut letters = Vec::with_capacity(messages);
    for _ in 0..messages {
        let event = OrderConfirmed { order: OrderId::generate(), payment: PaymentId::generate() };
        let payload = serde_json::to_vec(&event).doing("write a message")?;
        let time = "2026-01-01T00:00:00.000000Z";
        letters.push(Letter::about(
            event.order.uuid(),
            Uuid::now_v7(),
            OrderConfirmed::TYPE,
            payload,
            &tenant,
            time,
        ));
    }
    Ok(letters)
}

/// Waits for all effects; returns the time from the first to the last by the database's clock, so that joining the
/// group does not count.
async fn wait_for_all(owner: &Session, messages: usize) -> Result<f64, Trouble> {
    let begun = Instant::now();
    let messages = i64::try_from(messages).unwrap_or(i64::MAX);
    loop {
        let row = owner
            .one("SELECT count(*), extract(epoch FROM max(done_at) - min(done_at))::float8 FROM bench_effect")
            .await?;
        let (done, seconds): (i64, Option<f64>) = (row.get(0), row.get(1));
        if let (true, Some(seconds)) = (done >= messages, seconds) {
            return Ok(seconds);
        }
        if begun.elapsed() > PATIENCE {
            return Err(Trouble::Refused(format!(
                "{done} of {messages} messages took effect in {PATIENCE:?}"
            )));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn report(effort: &Effort, seconds: f64) -> Part {
    let rate = f64::from(u32::try_from(effort.messages).unwrap_or(u32::MAX)) / seconds;
    let mut part = Part::default();
    part.ratios.push(Ratio::new("inbox effects per second", rate, 10_000.0));
    let mut table = Table::new(
        "Inbox: the simplest reaction, a row for each message",
        ["messages", "seconds", "effects/s"],
    );
    table.row([effort.messages.to_string(), number(seconds, 2), number(rate, 0)]);
    part.tables.push(table);
    part.figure("inbox.effects_per_second", rate);
    part
}
