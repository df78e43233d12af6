#![doc = include_str!("../README.md")]

mod append;
mod metrics;
mod outbox_event;
mod outgoing_record;
mod partitions;
mod readings;
mod relay;
mod release;
mod republish;
mod restored;
mod retention;

pub use append::{AppendError, Destination, MAX_PAYLOAD, append, append_to};
pub use metrics::OutboxMetrics;
pub use partitions::make_partitions;
pub use readings::read_metrics;
pub use relay::{Relay, RelaySettings, end_lease};
pub use release::release;
pub use republish::{PublishedEvents, Republication, republish};
pub use restored::is_restored_since;
pub use retention::{RetentionCounts, RetentionSettings, detach_days};

/// Wakes this process's relay when a transaction with events has committed.
pub const EVENTS_COMMITTED: database::WakeUp = database::WakeUp("outbox");
