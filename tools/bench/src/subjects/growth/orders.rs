//! Open orders: the looks of the expiry job, and the rate of expiry.

use super::ground::Ground;
use super::lines::Lines;
use crate::environment::Environment;
use crate::load::as_f64;
use crate::workload::Growth;
use harness::{Part, Result};

/// The look for due orders.
const LOOK: [&str; 1] = ["SELECT%\"orders\"%\"expires_at\"%FOR UPDATE SKIP LOCKED%"];
/// All statements of an expiry.
const ALL: [&str; 1] = ["%"];

/// Orders that expire for a measurement.
const EXPIRED: usize = 100_000;

/// Orders that are open and not due.
pub(super) async fn open(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let mut ground = Ground::prepare(environment, Part::ORDERS, "open").await?;
    ground.run("SELECT set_config('bench.expires', '1 day', false)").await?;
    for &rows in &sizes.rows {
        ground.fill(include_str!("sql/orders.sql"), rows).await?;
        ground.analyse().await?;
        ground.meter.reset().await?;
        let poll = [("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "10".to_owned())];
        let mut orders = ground.serve(1, &poll).await?;
        let look = ground.until(&LOOK, |cost| cost.calls >= 200.0).await?;
        orders.stop().await?;
        lines.add("expiry_look", rows, look, look.calls);
    }
    ground.remove().await
}

/// Orders that are due, on two instances.
pub(super) async fn due(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    for &rows in &sizes.backlog {
        let mut ground = Ground::prepare(environment, Part::ORDERS, "due").await?;
        ground.run("SELECT set_config('bench.expires', '-1 day', false)").await?;
        ground.fill(include_str!("sql/orders.sql"), rows).await?;
        ground.analyse().await?;
        ground.meter.reset().await?;
        // The harness reads the address from the log, which must not be flooded before.
        let log = [("IDEM_LOG__LEVEL", "warn,runtime=info".to_owned())];
        let (mut one, mut two) = (ground.serve(1, &log).await?, ground.serve(2, &log).await?);
        let wanted = as_f64(rows.min(EXPIRED));
        let look = ground.until(&LOOK, |cost| cost.rows >= wanted).await?;
        let all = ground.meter.cost(&ALL).await?;
        one.kill().await?;
        two.kill().await?;
        let rate = "SELECT (count(*) / extract(epoch FROM max(updated_at) - min(updated_at)))::float8 \
                      FROM orders WHERE cancel_reason = 'expired'";
        let rate = ground.number(rate).await?;
        lines.add("expired_order", rows, all, look.rows);
        lines.section.at_least(format!("growth.expired_of_{rows}_per_second"), rate, 2_000.0);
        ground.remove().await?;
    }
    Ok(())
}
