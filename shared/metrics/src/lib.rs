#![doc = include_str!("../README.md")]

mod counters;
mod exposition;
mod gauges;

pub use counters::Counters;
pub use exposition::{CONTENT_TYPE, write};
pub use gauges::{Number, Readings, Sample, register_gauges};

pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
pub use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
pub use prometheus_client::registry::Registry;

/// The families that one crate counts for one database. The crate that counts defines the type, and the runtime registers it.
///
/// A value is found by `Database::metrics`, so a function that has the database needs no further argument to count.
pub trait Families: Default + Send + Sync + 'static {
    /// Registers all families under their full names.
    fn register(&self, registry: &mut Registry);
}

/// Buckets of durations in seconds: from 0.5 ms, each twice as long as the last, to 8 s.
pub fn seconds_buckets() -> impl Iterator<Item = f64> {
    exponential_buckets(0.0005, 2.0, 15)
}

/// Buckets of numbers of things: 1, 2, 4 … 512.
pub fn count_buckets() -> impl Iterator<Item = f64> {
    exponential_buckets(1.0, 2.0, 10)
}
