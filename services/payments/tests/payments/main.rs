//! The service between `orders` and a card processor, against real PostgreSQL and Kafka. The processor is played by
//! [`processor::Processor`], so that a test can lose an answer or hold it back; the stand-in itself is met in the
//! end-to-end tests. One program, so that it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod cancellations;
mod charges;
mod client;
mod configuration;
mod document;
mod guards;
mod http;
mod messages;
mod processor;
mod reading;
mod stage;
mod workers;
