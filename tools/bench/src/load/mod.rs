//! Load, and its statistics.

mod connection;
mod hostile;
mod statistics;
mod worker_loop;

pub(crate) use connection::Connection;
pub(crate) use hostile::hostile_clients;
pub(crate) use statistics::{Load, as_f64, median};
pub(crate) use worker_loop::{Worker, closed_loop, open_loop};
