//! Integration tests of `payments` against real PostgreSQL and Kafka.
//!
//! [`processor::Processor`] plays the card processor, so that a test can lose or delay a response. `thousand` and the
//! end-to-end tests use the stand-in instead. All tests are one program, so that it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod audits;
mod cancellations;
mod charges;
mod circuit_breaker;
mod client;
mod commands;
mod configuration;
mod copied;
mod document;
mod fees;
mod growth;
mod guards;
mod http;
mod ledger;
mod ledger_audits;
mod listing;
mod look_ups;
mod messages;
mod metrics;
mod mock;
mod processor;
mod reading;
mod reconcile_job;
mod reconciled;
mod reconciliation;
mod refund_commands;
mod refund_retries;
mod refunds;
mod restored;
mod reviews;
mod round_trips;
mod stage;
mod stuck;
mod thousand;
mod webhook_retention;
mod webhooks;
mod workers;
