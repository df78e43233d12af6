//! What operators see of messages that wait, and what they can do about them: one command a file.

mod discard;
mod history;
mod parked;
mod redrive;
mod report;
mod rewind;
mod show;
pub mod table;

use clap::Parser;
use contracts::Topics;
use database::Database;
use messaging::Brokers;
pub use outbox::operator::CommandOutput;
use thiserror::Error;

use crate::{Consumer, HandlerError};
use report::Failed;

/// The commands below `SERVICE inbox`.
#[derive(Debug, Parser)]
pub enum Command {
    /// List the messages that wait: parked until somebody decides, or held behind one that is missing
    Parked(parked::Parked),
    /// Show everything about one of them
    Show(show::Show),
    /// Apply what is parked, and in order what waits behind it
    Redrive(redrive::Redrive),
    /// Give a parked message up, and let its aggregate go on without it
    Discard(discard::Discard),
    /// Let the consumer read messages again, while no instance runs
    Rewind(rewind::Rewind),
}

impl Command {
    /// Whether the command asks Kafka, and not the database alone.
    pub fn needs_kafka(&self) -> bool {
        match self {
            Self::Parked(_) | Self::Show(_) | Self::Redrive(_) | Self::Discard(_) => false,
            Self::Rewind(_) => true,
        }
    }
}

/// What the commands work with.
pub struct OperatorContext {
    /// The service's database.
    pub database: Database,
    /// How topics are called here.
    pub topics: Topics,
    /// The service's own reactions: a redrive applies messages with them.
    pub consumer: Consumer,
    /// Where Kafka is, if the command needs it.
    pub brokers: Option<Brokers>,
}

/// The command could not do its work at all. Nothing was changed.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// The database did not answer, or refused.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// Kafka did not answer, or refused.
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    /// The command asks Kafka, and nobody said where it is.
    #[error("the command asks Kafka: set kafka.brokers")]
    NoBrokers,
}

impl From<diesel::result::Error> for OperatorError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Does what the command says.
pub async fn run(command: Command, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
    match command {
        Command::Parked(parked) => parked.run(context).await,
        Command::Show(show) => show.run(context).await,
        Command::Redrive(redrive) => redrive.run(context).await,
        Command::Discard(discard) => discard.run(context).await,
        Command::Rewind(rewind) => rewind.run(context).await,
    }
}

/// How often a command stands back for a consumer that holds the same rows.
const TRIES: usize = 5;

/// Runs a transaction again if others were in its way.
async fn patient<T>(mut work: impl AsyncFnMut() -> Result<T, Failed>) -> Result<T, Failed> {
    let mut done = work().await;
    for _ in 1..TRIES {
        let Err(Failed { failure: HandlerError::Database(database::Error::Contention(_)), .. }) = &done
        else {
            break;
        };
        done = work().await;
    }
    done
}
