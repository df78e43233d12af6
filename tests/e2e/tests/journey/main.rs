#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The journey of an order to each of its ends, and what may happen on the way.

mod crash_points;
mod ends;
mod erased;
mod hostile;
mod killed;
mod late;
mod manifests;
mod metrics;
mod outages;
mod races;
mod reconcile;
mod released;
mod repeated;
mod secrets;
mod spans;
mod starting;
