#![doc = include_str!("../README.md")]

#[cfg(all(any(feature = "mutant-no-inbox", feature = "mutant-no-sequence-guard"), not(debug_assertions)))]
compile_error!("the features mutant-… are for tests; a release build must not have them");

mod apply;
mod consumer;
mod counts;
mod deduplication;
mod error;
mod locks;
mod message;
pub mod operator;
mod parking;
mod retries;
mod runner;
mod sequence;
mod statement;
mod stopped;
mod trim;

pub use consumer::{Consumer, DiscardedMessage};
pub use counts::{InboxCounts, counts};
pub use error::HandlerError;
pub use locks::{LockKeys, Locks, no_locks};
pub use runner::{Runner, RunnerSettings};
pub use trim::{TrimCounts, trim};
