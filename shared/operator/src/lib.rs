#![doc = include_str!("../README.md")]

mod change;
mod command;
mod doctor;
mod erase;
mod inbox;
mod installation;
mod keys;
mod outbox;
mod output;
mod query;
mod report;
pub mod table;

pub use change::{Change, Outcome};
pub use command::{NoCommand, OperatorCommand};
pub use doctor::{DeploymentRow, Doctor, Expected};
pub use erase::{Erase, ErasedRows, Erasure};
pub use inbox::InboxCommand;
pub use installation::Installation;
pub use keys::KeysCommand;
pub use outbox::{OutboxCommand, RelayCommand};
pub use output::{CommandOutput, Read};
pub use query::query;
pub use report::Report;
