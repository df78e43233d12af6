#![doc = include_str!("../README.md")]

mod buffer;
mod draft;
mod error;
pub mod functions;
mod handler;
mod insert_rows;
mod listed;
mod migrations;
mod notes;
mod pool;
mod rows;
mod settings;
mod signals;
pub mod time;
mod tx;
mod tx_connection;

pub use buffer::{Buffered, Insert};
pub use draft::{AppendTx, SharedTx};
pub use error::{Error, ErrorClass, Result};
pub use handler::{Handler, Work};
pub use insert_rows::InsertRows;
pub use migrations::{MigrateError, RELIABILITY, migrate};
pub use notes::UnitOfWork;
pub use pool::{Connection, Database};
pub use rows::Rows;
pub use settings::Settings;
pub use signals::WakeUp;
pub use tx::{Mark, Tx};
