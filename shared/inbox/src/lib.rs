#![doc = include_str!("../README.md")]

mod apply;
mod failure;
mod incoming;
mod ledger;
mod park;
mod reactions;
mod runner;
mod sequence;
mod waiting;

pub use failure::Failure;
pub use incoming::Incoming;
pub use reactions::Reactions;
pub use runner::{Runner, RunnerSettings};
