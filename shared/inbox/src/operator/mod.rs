//! The operators' commands below `SERVICE inbox`: list, show, redrive, discard and rewind. One file a command.
//!
//! Each command that changes data takes a name and a reason, and leaves one fact in the audit.

mod discard;
mod discarded;
mod history;
mod parked;
mod redrive;
mod report;
mod rewind;
mod show;
pub mod table;

use clap::Parser;
use database::Database;
use envelope::Topics;
use messaging::Brokers;
pub use outbox::operator::CommandOutput;
use thiserror::Error;

pub use discarded::has_discarded;

use crate::{Consumer, HandlerError};
use report::MessageError;

/// The commands below `SERVICE inbox`.
#[derive(Debug, Parser)]
pub enum Command {
    /// List the waiting messages: parked ones wait for an operator, held ones for a missing message
    Parked(parked::Parked),
    /// Show one waiting message with its headers and payload
    Show(show::Show),
    /// Apply parked messages, and the messages held behind them, in order
    Redrive(redrive::Redrive),
    /// Discard a parked message without effect, and apply the messages held behind it
    Discard(discard::Discard),
    /// Let the consumer read messages again, while no instance runs
    Rewind(rewind::Rewind),
}

impl Command {
    /// Whether the command changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Parked(_) | Self::Show(_))
    }

    /// Whether the command needs Kafka as well as the database.
    pub fn needs_kafka(&self) -> bool {
        matches!(self, Self::Rewind(_))
    }
}

/// The service's parts that the commands use.
pub struct OperatorContext {
    /// The service's database.
    pub database: Database,
    /// The names of topics and consumer groups.
    pub topics: Topics,
    /// The service's consumer: a redrive runs its handlers.
    pub consumer: Consumer,
    /// The brokers, for commands that need Kafka.
    pub brokers: Option<Brokers>,
}

/// The command failed and changed nothing.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// The database did not answer, or refused.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// Kafka did not answer, or refused.
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    /// The command needs Kafka, and the context has no brokers.
    #[error("the command needs Kafka: set kafka.brokers")]
    NoBrokers,
}

impl From<diesel::result::Error> for OperatorError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Runs a command.
pub async fn run(command: Command, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
    match command {
        Command::Parked(parked) => parked.run(context).await,
        Command::Show(show) => show.run(context).await,
        Command::Redrive(redrive) => redrive.run(context).await,
        Command::Discard(discard) => discard.run(context).await,
        Command::Rewind(rewind) => rewind.run(context).await,
    }
}

/// How often a command tries a transaction that collides with a consumer's.
const ATTEMPTS: usize = 5;

/// Runs a transaction again as long as it ends in a deadlock or a lock timeout.
async fn retry_on_contention<T>(
    mut work: impl AsyncFnMut() -> Result<T, MessageError>,
) -> Result<T, MessageError> {
    let mut result = work().await;
    for _ in 1..ATTEMPTS {
        let Err(MessageError { error: HandlerError::Database(database::Error::Contention(_)), .. }) = &result
        else {
            break;
        };
        result = work().await;
    }
    result
}
