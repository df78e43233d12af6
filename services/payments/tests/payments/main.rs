//! The service between `orders` and a card processor, against real PostgreSQL and Kafka. The processor is played by
//! [`processor::Processor`], so that a test can lose an answer or hold it back; the stand-in itself is met in `thousand`
//! and in the end-to-end tests. One program, so that it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod cancellations;
mod charges;
mod circuit_breaker;
mod client;
mod commands;
mod configuration;
mod document;
mod guards;
mod http;
mod ledger;
mod ledger_verify;
mod listing;
mod look_ups;
mod messages;
mod mock;
mod processor;
mod reading;
mod reconcile_job;
mod reconciliation;
mod refunds;
mod reviews;
mod stage;
mod thousand;
mod webhooks;
mod workers;
