#![doc = include_str!("../README.md")]

mod context;
mod exporter;
mod kinds;

pub use context::{current, fail, follow, link, trace_id, traceparent};
pub use exporter::{Exporter, ExporterError, Settings};
