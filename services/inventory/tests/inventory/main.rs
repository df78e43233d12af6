//! Integration tests of `inventory` over HTTP and Kafka, against real PostgreSQL and Kafka. One program, so that it links
//! once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod adjustments;
mod audits;
mod document;
mod guards;
mod items;
mod locks;
mod orders;
mod parked;
mod reservations;
mod stage;
mod versions;
