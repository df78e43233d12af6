//! The HTTP API as its clients see it, against a real PostgreSQL. One test program, so that it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod audits;
mod charges;
mod explain;
mod faults;
mod keys;
mod later_refunds;
mod libraries;
mod listener;
mod lists;
mod process;
mod protocol;
mod reading;
mod refunds;
mod rules;
mod simulator;
mod steps;
mod webhooks;
