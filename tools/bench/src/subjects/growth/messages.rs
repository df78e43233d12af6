//! Inbox rows: the cost of a message.

use envelope::Topics;

use super::ground::Ground;
use super::lines::Lines;
use crate::environment::Environment;
use crate::load::as_f64;
use crate::subjects::bare_producer;
use crate::subjects::inbox::{TABLE, apply_until, records};
use crate::subjects::meter::Cost;
use crate::workload::Growth;
use harness::{Part, Result};

/// Messages for a measurement, each of another order.
pub(super) const MESSAGES: usize = 10_000;

/// The statements on the inbox's tables.
const INBOX: [&str; 1] = ["%inbox_%"];
/// The handler's own statement: one for each message.
const EFFECT: [&str; 1] = ["INSERT INTO%bench_effect%"];

pub(super) async fn measure(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::ORDERS, "inbox").await?;
    ground.database.owner().await?.run(TABLE).await?;
    for &rows in &sizes.rows {
        ground.fill(include_str!("sql/inbox.sql"), rows).await?;
        ground.analyse().await?;
        let topics = environment.topics(&format!("growth-inbox-{rows}"));
        let cost = apply(&ground, &topics).await?;
        lines.add("inbox_message", rows, cost, as_f64(MESSAGES));
    }
    ground.remove().await
}

/// Publishes the messages on these topics, and applies them. Returns the cost of the inbox.
pub(super) async fn apply(ground: &Ground<'_>, topics: &Topics) -> Result<Cost> {
    let environment = ground.environment;
    let topic = environment.make_topic(topics).await?;
    let records = records(MESSAGES)?;
    tokio::task::block_in_place(|| bare_producer::publish(environment, &topic, &records))?;
    ground.meter.reset().await?;
    apply_until(environment, &ground.database, topics, async || {
        ground.until(&EFFECT, |cost| cost.rows >= as_f64(MESSAGES)).await
    })
    .await?;
    ground.meter.cost(&INBOX).await
}
