#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Faults under load. Each storm has an installation of its own. Two storms run at a time: most of a storm waits for leases
//! and sessions to end, and more storms would starve each other. The longest comes first by its name, so that the others
//! run beside it.

mod crash_sweep;
mod idle;
mod killed_in_turn;
mod paused;
mod random;
mod servers_away;
mod stopped;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Waits until there is room for another storm.
async fn turn() -> SemaphorePermit<'static> {
    static ROOM: Semaphore = Semaphore::const_new(2);
    ROOM.acquire().await.unwrap()
}
