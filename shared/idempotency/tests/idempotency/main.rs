#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The guarantees of the executor, against a real PostgreSQL.

mod commit;
mod contention;
mod detachment;
mod erasure;
mod expiry;
mod failures;
mod fence;
mod group;
mod lookup_cost;
mod metrics;
mod natural;
mod phased;
mod progress;
mod races;
mod replay;
mod replay_cache;
mod shop;
