#![doc = include_str!("../README.md")]

mod append;
mod partitions;
mod relay;
mod rows;

pub use append::{AppendError, MAX_PAYLOAD, append};
pub use partitions::make_partitions;
pub use relay::{Relay, RelaySettings};

/// Rings in this process when a transaction with events has committed.
pub const COMMITTED: database::Signal = database::Signal("outbox");
