#![doc = include_str!("../README.md")]

mod context;
#[cfg(feature = "exporter")]
mod exporter;
#[cfg(feature = "exporter")]
mod kinds;

pub use context::{current, fail, follow, link, trace_id, traceparent};
#[cfg(feature = "exporter")]
pub use exporter::{Exporter, Settings};
