//! Unpublished events: the pages of the relay.

use super::ground::Ground;
use super::lines::Lines;
use crate::environment::Environment;
use crate::subjects::relay::backlog::rewind;
use crate::workload::Growth;
use harness::{Part, Result};

/// Rows that the relay publishes for a measurement.
const PUBLISHED: f64 = 50_000.0;

/// The statements of a window that read the outbox.
const WINDOW: [&str; 2] = ["SELECT%", "%outbox_event%id%>%"];
/// The statement that loads a page.
const PAGE: [&str; 1] = ["SELECT%\"outbox_event\".\"payload\"%"];

pub(super) async fn measure(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::ORDERS, "events").await?;
    // Rows of today stay in this partition, and only this measurement analyses it.
    ground.run("ALTER TABLE outbox_event_default SET (autovacuum_enabled = off)").await?;
    environment.make_topic(&ground.topics).await?;
    for &rows in &sizes.backlog {
        ground.fill(include_str!("sql/backlog.sql"), rows).await?;
        drain(&ground, lines, "not_analysed", rows).await?;
        ground.analyse().await?;
        drain(&ground, lines, "analysed", rows).await?;
        // The next rows are a surprise to the planner.
    }
    ground.remove().await
}

async fn drain(ground: &Ground<'_>, lines: &mut Lines, tables: &str, rows: usize) -> Result<()> {
    let owner = ground.database.owner().await?;
    rewind(&owner).await?;
    ground.meter.reset().await?;
    let mut relay = ground.start(Part::ORDERS.relay(1), &[])?;
    let page = ground.until(&PAGE, |cost| cost.rows >= PUBLISHED).await?;
    let window = ground.meter.cost(&WINDOW).await?;
    relay.kill().await?;
    lines.add(&format!("relay_window_{tables}"), rows, window, window.rows);
    lines.add(&format!("relay_page_{tables}"), rows, page, page.rows);
    Ok(())
}
