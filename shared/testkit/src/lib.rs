#![doc = include_str!("../README.md")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod authority;
mod background;
mod broker;
mod broker_tls;
mod clock;
mod database;
mod document;
mod guarded_broker;
pub mod http;
pub mod identity;
mod metrics;
mod plan;
mod port;
mod postgres;
mod proxy;
mod record;
mod round_trips;
mod shared_broker;
mod small_disk;
mod sound;
mod topics;
pub mod trimmed;
mod wait;

pub use authority::Authority;
pub use background::Background;
pub use broker::Broker;
pub use broker_tls::BrokerTls;
pub use clock::{Clock, behind};
pub use database::TestDatabase;
pub use document::{assert_document_is_fresh, assert_keyed_commands};
pub use guarded_broker::GuardedBroker;
pub use metrics::{Metrics, labelled};
pub use plan::assert_needs_no_scan;
pub use port::free_port;
pub use postgres::{Postgres, Replication};
pub use proxy::Proxy;
pub use record::{TestRecord, confirmed, publish, record};
pub use round_trips::RoundTrips;
pub use shared_broker::{
    admin_client, clear_shared_broker, configure_topic, delete_groups, delete_topics, remove_records,
};
pub use small_disk::SmallDisk;
pub use sound::{Damage, SoundDatabase};
pub use topics::TestTopics;
pub use wait::{eventually, eventually_done};

/// Says on stderr that a test did not run, because it proves nothing. It is also seen if the output of tests that pass is hidden.
pub(crate) fn not_run(why: &str) {
    use std::io::Write;
    std::io::stderr().write_all(format!("not run: {why}\n").as_bytes()).unwrap();
}

/// An environment variable that `./dev test` sets. Panics without it.
pub fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run the tests with ./dev test"))
}
