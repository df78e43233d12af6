#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The guarantees of a unit of work, against a real PostgreSQL.

mod aggregates;
mod append_tx;
mod bench;
mod buffering;
mod deadlines;
mod ends;
mod failover;
mod migrations;
mod poolers;
mod rows;
mod sessions;
mod tls;
mod together;
