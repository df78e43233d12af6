#![doc = include_str!("../README.md")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod audit;
mod crash_points;
mod customer;
mod load;
mod part;
mod processor;
mod program;
mod stack;
mod traces;

pub use crash_points::crash_points;
pub use customer::{Customer, TEA, key};
pub use load::{Answers, Load};
pub use part::Part;
pub use program::Program;
pub use stack::{Options, SECRET_KEY, Stack, WEBHOOK_SECRET};
pub use traces::Trace;
