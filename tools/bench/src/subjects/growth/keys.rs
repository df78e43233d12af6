//! Key records: the cost of a command and of its replay.

use std::sync::Arc;
use std::time::Duration;

use super::ground::{Ground, without_relay};
use super::lines::Lines;
use crate::environment::Environment;
use crate::load::closed_loop;
use crate::subjects::orders::{Client, Placer, Replayer, stock_catalogue};
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
    let mut ground = Ground::prepare(environment, Part::Orders, "keys").await?;
    stock_catalogue(&ground.database.owner().await?).await?;
    for &rows in &sizes.rows {
        ground.fill(include_str!("sql/keys.sql"), rows).await?;
        ground.analyse().await?;
        let mut orders = ground.serve(1, &[without_relay()]).await?;
        let address = orders.address().await?;
        let open = || Client::open(environment, Part::Orders.instance(1), &address);
        let mut placers = Vec::new();
        for _ in 0..CONNECTIONS {
            placers.push(Placer { client: open().await?, keys: Vec::new() });
        }
        let (_, placers) = closed_loop(placers, Duration::from_millis(500)).await?; // plans its statements
        ground.meter.reset().await?;
        let (load, placers) = closed_loop(placers, LENGTH).await?;
        let cost = ground.meter.cost(&[LOOK_UP]).await? + ground.meter.cost(&[WRITES]).await?;
        lines.add("key records", "key lookup and all writes: POST /v1/orders", rows, cost, load.count);
        let keys = Arc::new(placers.into_iter().flat_map(|placer| placer.keys).collect::<Vec<_>>());
        let mut replayers = Vec::new();
        for number in 0..CONNECTIONS {
            replayers.push(Replayer { client: open().await?, keys: Arc::clone(&keys), next: number * 100 });
        }
        ground.meter.reset().await?;
        let (load, _) = closed_loop(replayers, LENGTH).await?;
        let replay = ground.meter.cost(&[LOOK_UP]).await?;
        lines.add("key records", "key lookup: replay", rows, replay, load.count);
        orders.stop().await?;
    }
    ground.remove().await
}
