#![doc = include_str!("../README.md")]

mod apply;
mod batch_plan;
mod consumer;
mod corrupt;
mod deduplication;
mod error;
mod locks;
mod membership;
mod message;
mod metrics;
mod parking;
mod readings;
mod repair;
mod retries;
mod runner;
mod runner_settings;
mod sequence;
mod trim;
mod turns;
mod worker;

pub use consumer::{Consumer, DiscardedMessage};
pub use error::HandlerError;
pub use locks::{LockKeys, Locks, no_locks};
pub use membership::member_of;
pub use message::AggregateRef;
pub use metrics::{InboxMetrics, Reception};
pub use readings::read_metrics;
pub use repair::{Discard, DiscardEffects, MessageError, MessageSummary, Redriven};
pub use repair::{Waiting, discard, has_discarded, redrive, waiting_aggregates};
pub use runner::Runner;
pub use runner_settings::RunnerSettings;
pub use trim::{TrimCounts, trim};
