#![doc = include_str!("../README.md")]

mod buffer;
mod error;
pub mod functions;
mod migrations;
mod pool;
mod rows;
mod settings;
mod signals;
pub mod time;
mod tx;
mod tx_connection;
mod work;

pub use buffer::{Buffered, Insert};
pub use error::{Class, Error, Result};
pub use migrations::{MigrateError, RELIABILITY, migrate};
pub use pool::{Connection, Database};
pub use rows::Rows;
pub use settings::Settings;
pub use signals::Signal;
pub use tx::{Mark, Tx};
pub use work::Work;
