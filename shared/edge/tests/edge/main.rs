#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The HTTP contract of every service, over real HTTP and a real PostgreSQL.

mod bench;
mod bodies;
mod conditional;
mod disconnects;
mod fences;
mod issuer;
mod issuers;
mod key_records;
mod key_sets;
mod keys;
mod limits;
mod lists;
mod logs;
mod metrics;
mod outages;
mod phased;
mod rates;
mod replay;
mod response;
mod routes;
mod sameness;
mod shop;
mod spellings;
mod tenants;
mod tokens;
