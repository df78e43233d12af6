#![doc = include_str!("../README.md")]

#[cfg(all(any(feature = "mutant-id-only-cursor", feature = "mutant-no-fence"), not(debug_assertions)))]
compile_error!("a mutant must not leave the workshop: build without the features mutant-…");

mod append;
mod letter;
pub mod operator;
mod partitions;
mod relay;
mod rows;

pub use append::{Address, AppendError, MAX_PAYLOAD, append, append_to};
pub use partitions::make_partitions;
pub use relay::{Relay, RelaySettings};

/// Rings in this process when a transaction with events has committed.
pub const COMMITTED: database::WakeUp = database::WakeUp("outbox");
