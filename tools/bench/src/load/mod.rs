//! Load, and what it took.

mod closed_loop;
mod connection;
mod statistics;

pub(crate) use closed_loop::{Worker, closed_loop};
pub(crate) use connection::{Answer, Connection};
pub(crate) use statistics::{Load, median};
