//! Load, and its statistics.

mod closed_loop;
mod connection;
mod hostile;
mod open_loop;
mod statistics;

pub(crate) use closed_loop::{Worker, closed_loop};
pub(crate) use connection::Connection;
pub(crate) use hostile::hostile_clients;
pub(crate) use open_loop::open_loop;
pub(crate) use statistics::{Load, as_f64, median};
