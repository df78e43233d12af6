//! The example service as a process, against real servers: its output, exit codes, endpoints and shutdown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod audits;
mod deployment;
mod doctor;
mod greeter;
mod keys;
mod lifecycle;
mod metrics;
mod operators;
mod outbox;
mod pools;
mod slow_readers;
mod standstill;
mod start;
