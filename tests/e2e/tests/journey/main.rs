#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The journey of an order to each of its ends, and what may happen on the way.

mod crash_points;
mod fenced;
mod followed;
mod hostile;
mod killed;
mod manifests;
mod metrics;
mod of_services;
mod outages;
mod races;
mod repeated;
mod rights;
mod starting;
