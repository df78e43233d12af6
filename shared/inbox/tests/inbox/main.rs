#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The promises of the consumer, against real PostgreSQL and Kafka. One program, so that it links once.

mod alike;
mod common;
mod corrupt;
mod dead_letters;
mod discard;
mod failing_messages;
mod listing;
mod locks;
mod metrics;
mod missing;
mod once;
mod order;
mod other_history;
mod outage;
mod partitions;
mod rebalance;
mod redrive;
mod released;
mod renewed;
mod rewind;
mod round_trips;
mod trim;
