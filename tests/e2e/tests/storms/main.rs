#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Faults under load. Each storm has an installation of its own, and they take turns: two at once would only starve
//! each other.

mod idle;
mod killed_in_turn;
mod paused;
mod servers_away;
mod stopped;
mod sweep;

use tokio::sync::{Mutex, MutexGuard};

/// Waits for the other storms to be over.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// The services, in no particular order.
const SERVICES: [&str; 3] = ["orders", "payments", "inventory"];
