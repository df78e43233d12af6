#![doc = include_str!("../README.md")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod customer;
mod program;
mod stack;

pub use customer::{Customer, TEA, key};
pub use program::Program;
pub use stack::{Options, Stack};
