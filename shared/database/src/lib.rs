#![doc = include_str!("../README.md")]

mod append_tx;
mod attached;
mod buffer;
mod connection;
mod delegate;
mod driver_log;
mod error;
pub mod functions;
mod handler;
mod insert_rows;
mod migrations;
mod pending_writes;
mod pool;
mod rows;
mod session_check;
mod settings;
mod text_enum;
pub mod time;
mod tx;

pub use append_tx::{AppendTx, SharedTx};
pub use buffer::{Buffered, Insert};
pub use connection::Connection;
pub use driver_log::is_without_parameters;
pub use error::{Error, ErrorClass, Result};
pub use handler::{Handler, Work};
pub use insert_rows::InsertRows;
pub use migrations::{MigrateError, RELIABILITY, migrate};
pub use pending_writes::UnitOfWork;
pub use pool::{Database, PoolStatus, WakeUp};
pub use rows::Rows;
pub use session_check::UnusableSession;
pub use settings::Settings;
pub use tx::Tx;
