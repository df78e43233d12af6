#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The databases are lost, and come back: from a standby, or from a dump.

mod failover;
mod of_services;
mod published;
mod restore;

use e2e::{Part, Stack};
use testkit::eventually;

/// The next transaction number of the server.
const NEXT_TRANSACTION: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS count";

/// Waits until so many more orders are accepted.
async fn accepted(stack: &Stack, more: i64) {
    let orders = "SELECT count(*) FROM orders";
    let before = stack.count(Part::ORDERS, orders).await;
    eventually("orders are accepted", async || {
        (stack.count(Part::ORDERS, orders).await >= before + more).then_some(())
    })
    .await;
}
