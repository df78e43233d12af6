#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The rules of the architecture. One program, so that it links once.

mod claims;
mod compose;
mod crash_points;
mod dependencies;
mod documents;
mod how_to;
mod kubernetes;
mod lab;
mod migrations;
mod monitoring;
mod new_service;
mod problems;
mod production;
mod rooms;
mod stored_responses;
mod strategies;
mod tenants;
mod walkthrough;
