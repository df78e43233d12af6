#![doc = include_str!("../README.md")]

#[cfg(all(any(feature = "mutant-no-inbox", feature = "mutant-no-sequence-guard"), not(debug_assertions)))]
compile_error!("a mutant must not leave the workshop: build without the features mutant-…");

mod apply;
mod bytes;
mod consumer;
mod dead_letter;
mod failure;
mod incoming;
mod ledger;
mod locks;
pub mod operator;
mod park;
mod runner;
mod sequence;
mod stored;
mod waiting;

pub use consumer::{Consumer, DiscardedMessage, Locks};
pub use failure::HandlerError;
pub use locks::{LockKeys, no_locks};
pub use runner::{Runner, RunnerSettings};
