//! Integration tests of `parcels` over HTTP and Kafka, against real PostgreSQL and Kafka. One program, so that it links
//! once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod audits;
mod completing;
mod document;
mod messages;
mod stage;
