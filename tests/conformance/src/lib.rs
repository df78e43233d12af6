#![doc = include_str!("../README.md")]

mod case_error;
mod cases;
mod http;
mod report;
mod suite;
mod target;
mod trial;

pub use cases::{Case, Group};
pub use report::{CaseReport, CaseStatus, Report};
pub use suite::{Selection, Suite};
pub use target::{Target, TargetError};
