#![doc = include_str!("../README.md")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod audit;
mod customer;
mod leftovers;
mod load;
mod of_services;
mod stack;

use std::collections::BTreeSet;

pub use customer::{Customer, TEA};
pub use harness::orders::Order;
pub use harness::{Part, Program, Request, Response};
pub use leftovers::Leftover;
pub use load::{Load, Responses};
pub use of_services::*;
pub use stack::{Options, Settings, Stack, programs, publishers};

/// The crash points in the table of `shared/crashpoint/README.md`.
///
/// A dependency on that crate with its feature on would turn the feature on for every program of the same build.
pub fn crash_points() -> BTreeSet<&'static str> {
    let readme = include_str!("../../../shared/crashpoint/README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`'));
    names.map(str::trim).filter(|name| !name.is_empty()).collect()
}
