#![doc = include_str!("../README.md")]

mod cases;
mod finding;
mod http;
mod report;
mod suite;
mod target;
mod trial;

pub use cases::{Case, Group};
pub use finding::{Finding, Verdict};
pub use report::{CaseResult, Outcome, Report};
pub use suite::{Selection, Suite};
pub use target::{Target, TargetError};
