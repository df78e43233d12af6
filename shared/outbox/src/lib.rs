#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "operator"),
    allow(dead_code, unused_imports, reason = "some of it serves the operators' commands alone")
)]

#[cfg(all(any(feature = "mutant-id-only-cursor", feature = "mutant-no-fence"), not(debug_assertions)))]
compile_error!("the features mutant-… are for tests: build without them");

mod append;
mod metrics;
#[cfg(feature = "operator")]
pub mod operator;
mod outbox_event;
mod outgoing_record;
mod partitions;
mod readings;
mod relay;
mod restored;
mod retention;
mod session_lock;

pub use append::{AppendError, Destination, MAX_PAYLOAD, append, append_to};
pub use metrics::{OutboxMetrics, TermEnd};
pub use partitions::make_partitions;
pub use readings::read_metrics;
pub use relay::{Relay, RelaySettings};
pub use restored::is_restored_since;
pub use retention::{RetentionCounts, RetentionSettings, detach_days};

/// Wakes this process's relay when a transaction with events has committed.
pub const EVENTS_COMMITTED: database::WakeUp = database::WakeUp("outbox");
