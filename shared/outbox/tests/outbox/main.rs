#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The promises of the outbox and its relay, against real PostgreSQL and Kafka. One program, so that it links once.

mod append;
mod backlog;
mod blocked;
mod common;
mod detached;
mod election;
mod gaps;
mod idle;
mod leader;
mod metrics;
mod order;
mod outage;
mod partitions;
mod released;
mod renewed;
mod republish;
mod republished;
mod restored;
mod retention;
mod rights;
mod status;
