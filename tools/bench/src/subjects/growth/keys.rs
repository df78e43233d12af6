//! Key records: the cost of a command and of its replay.

use std::time::Duration;

use super::ground::{Ground, without_relay};
use super::lines::Lines;
use crate::environment::Environment;
use crate::load::{Load, closed_loop};
use crate::subjects::meter::Cost;
use crate::subjects::orders::{Placer, Replayer, stock_catalogue};
use crate::workload::Growth;
use harness::{Part, Result};

/// Connections at the same time.
const CONNECTIONS: usize = 8;
/// The length of a measurement.
const LENGTH: Duration = Duration::from_secs(4);

/// The lookup of keys.
const LOOK_UP: &str = "%idempotency_record record%";
/// The statements that write a command: order, timeline, event, fact, record and response.
const WRITES: &str = "%INSERT INTO%";

pub(super) async fn measure(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::ORDERS, "keys").await?;
    stock_catalogue(&ground.database.owner().await?).await?;
    for &rows in &sizes.rows {
        ground.fill(include_str!("sql/keys.sql"), rows).await?;
        ground.analyse().await?;
        let Requests { execution, replay } = requests(&ground, LENGTH).await?;
        lines.add("post_order", rows, execution.1, execution.0.count);
        lines.add("replay", rows, replay.1, replay.0.count);
    }
    ground.remove().await
}

/// First executions and replays, with the cost of the lookup of keys and of all writes.
pub(super) struct Requests {
    pub(super) execution: (Load, Cost),
    pub(super) replay: (Load, Cost),
}

/// Starts orders without its relay, and measures it for this long.
pub(super) async fn requests(ground: &Ground<'_>, length: Duration) -> Result<Requests> {
    let mut orders = ground.serve(1, &[without_relay()]).await?;
    let placers = Placer::open(ground.environment, &orders.address().await?, CONNECTIONS).await?;
    let (_, placers) = closed_loop(placers, Duration::from_millis(500)).await?; // plans its statements
    ground.meter.reset().await?;
    let (load, placers) = closed_loop(placers, length).await?;
    let execution = (load, ground.meter.cost(&[LOOK_UP]).await? + ground.meter.cost(&[WRITES]).await?);
    ground.meter.reset().await?;
    let (load, _) = closed_loop(Replayer::after(placers), length).await?;
    let replay = (load, ground.meter.cost(&[LOOK_UP]).await?);
    orders.stop().await?;
    Ok(Requests { execution, replay })
}
