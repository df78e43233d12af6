#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The orders service over HTTP, on a real PostgreSQL.

mod audits;
mod batches;
mod bench;
mod cancelling;
mod catalogue;
mod connections;
mod document;
mod listing;
mod metrics;
mod operators;
mod parked;
mod payments;
mod peers;
mod placing;
mod reading;
mod timeline;
mod together;
