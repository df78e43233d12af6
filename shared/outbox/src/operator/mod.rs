//! The operators' commands `SERVICE outbox status`, `release` and `republish`, and `SERVICE relay step-down`.
//!
//! `runtime` parses the command line and calls [`run`]. `status` only reads; `release` marks rows for the relay; `republish` publishes
//! to Kafka; `step-down` ends the relay's lease. Each but `status` writes one audit fact. None changes the outbox or the position of the
//! cursor.

mod days;
mod format;
mod published_rows;
mod release;
mod republish;
mod resend;
mod status;
mod step_down;

use clap::Subcommand;
use database::Database;
use envelope::Topics;
use messaging::Brokers;
use serde::Serialize;
use thiserror::Error;

pub use step_down::RelayCommand;

/// The commands below `SERVICE outbox`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the relay, its cursor, the backlog, and the days of the outbox
    Status(status::Status),
    /// Let the relay publish the messages that Kafka refused, once the cause is removed
    Release(release::Release),
    /// Publish messages again that the relay has published before; consumers ignore duplicates
    Republish(republish::Republish),
}

impl Command {
    /// Returns whether the command changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    /// Returns whether the command needs Kafka. Every command needs the database.
    pub fn needs_kafka(&self) -> bool {
        match self {
            Self::Status(_) | Self::Release(_) => false,
            Self::Republish(republish) => republish.needs_kafka(),
        }
    }
}

/// The database, topics and brokers that a command uses.
pub struct OperatorContext {
    /// The service's database.
    pub database: Database,
    /// The names of the topics in this installation.
    pub topics: Topics,
    /// The brokers, if the command needs Kafka.
    pub brokers: Option<Brokers>,
}

/// The result of an operators' command: a report, and whether the command did everything it was asked to do.
#[derive(Debug)]
pub struct CommandOutput {
    /// The report for stdout; it ends with a newline.
    pub text: String,
    /// True if everything that was asked for is done now, or was done before. Otherwise the text gives the reason.
    pub done: bool,
}

impl CommandOutput {
    /// Formats `report`: as JSON if `json` is set, otherwise by `text`.
    pub fn new<R: Serialize>(json: bool, done: bool, report: &R, text: impl FnOnce(&R) -> String) -> Self {
        let text = if json { format!("{:#}\n", serde_json::json!(report)) } else { text(report) };
        Self { text, done }
    }
}

/// The command failed.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// The database did not answer, or refused.
    #[error("{0}; is the database of IDEM_DATABASE__URL running and migrated?")]
    Database(#[from] database::Error),
    /// Kafka did not answer. No message was published.
    #[error("no message was published again: {0}")]
    Kafka(#[from] messaging::Error),
    /// The command needs Kafka, and no broker is configured.
    #[error("kafka.brokers is not set: set IDEM_KAFKA__BROKERS to host:port")]
    NoBrokers,
    /// The tenant of the first selected row is invalid. No message was published.
    #[error("no message was published again: row {id} of the outbox is invalid: {reason}")]
    InvalidRow {
        /// The row's id.
        id: i64,
        /// What is invalid.
        reason: envelope::InvalidName,
    },
    /// Publishing stopped before the last message. An audit fact names the run.
    #[error(
        "stopped after {acknowledged} of {messages} messages: {reason}; remove the cause and run the command again: \
         it starts from the beginning, and consumers ignore duplicates"
    )]
    Incomplete {
        /// The number of messages that Kafka acknowledged.
        acknowledged: usize,
        /// The number of selected messages.
        messages: usize,
        /// What stopped it.
        reason: String,
    },
}

impl From<diesel::result::Error> for OperatorError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Runs the command. `progress` gets a line every few seconds while messages are published.
pub async fn run(
    command: Command,
    context: &OperatorContext,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<CommandOutput, OperatorError> {
    match command {
        Command::Status(status) => status.run(context).await,
        Command::Release(release) => release.run(context).await,
        Command::Republish(republish) => republish.run(context, progress).await,
    }
}
