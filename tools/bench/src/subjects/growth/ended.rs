//! Audits of orders and of inventory among the rows of a million ended orders: the time of each.

use super::audits;
use super::ground::Ground;
use super::lines::Lines;
use crate::environment::Environment;
use crate::workload::Growth;
use harness::{Part, Result};

/// The databases, and the scripts that fill them.
const DATABASES: [(Part, &str); 2] = [
    (Part::ORDERS, include_str!("sql/ended_orders.sql")),
    (Part::INVENTORY, include_str!("sql/shipped_reservations.sql")),
];

pub(super) async fn measure(environment: &Environment, sizes: &Growth, lines: &mut Lines) -> Result<()> {
    let [.., rows] = sizes.payments;
    for (part, script) in DATABASES {
        let mut ground = Ground::prepare(environment, part, "ended").await?;
        ground.fill(script, rows).await?;
        // The relay has published every event.
        ground
            .run("UPDATE outbox_cursor SET position = (SELECT coalesce(max(id), 0) FROM outbox_event)")
            .await?;
        ground.analyse().await?;
        audits::measure(&ground, part, &mut lines.section).await?;
        ground.remove().await?;
    }
    Ok(())
}
