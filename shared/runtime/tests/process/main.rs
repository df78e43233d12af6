//! The example as a process, against real servers: what an operator sees from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod greeter;
mod keys;
mod lifecycle;
mod operators;
mod outbox;
mod start;
