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
mod program;
mod stack;

pub use crash_points::crash_points;
pub use customer::{Customer, TEA, key};
pub use load::{Answers, Load};
pub use part::Part;
pub use program::Program;
pub use stack::{Options, Stack};
