//! What operators ask of the log, and what they can do about it: one command a file.

mod published;
mod republish;
mod sending;
mod status;
mod words;

use clap::Subcommand;
use contracts::Topics;
use database::Database;
use messaging::Brokers;
use serde::Serialize;
use thiserror::Error;

/// The commands below `SERVICE outbox`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Tell how far the relay is, what waits for it, and which days the log has
    Status(status::Status),
    /// Publish again what was published before; consumers ignore what they have had
    Republish(republish::Republish),
}

impl Command {
    /// Whether the command needs Kafka, and not the database alone.
    pub fn needs_kafka(&self) -> bool {
        match self {
            Self::Status(_) => false,
            Self::Republish(republish) => republish.needs_kafka(),
        }
    }
}

/// What the commands work with.
pub struct OperatorContext {
    /// The service's database.
    pub database: Database,
    /// How topics are called here.
    pub topics: Topics,
    /// Where Kafka is, if the command needs it.
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

/// The command could not do its work, or not to the end.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// The database did not answer, or refused.
    #[error("{0}; does IDEM_DATABASE__URL lead to a running database that is migrated?")]
    Database(#[from] database::Error),
    /// Kafka did not answer. Nothing was done.
    #[error("nothing was published again: {0}")]
    Kafka(#[from] messaging::Error),
    /// Kafka is needed, and nobody said where it is.
    #[error("kafka.brokers is not set: set IDEM_KAFKA__BROKERS to host:port")]
    NoBrokers,
    /// It was begun, and an audit fact says so.
    #[error(
        "stopped after {acknowledged} of {messages} messages: {why}; run it again once that is mended: it begins \
         anew, and consumers ignore what they have had"
    )]
    Stopped {
        /// How many Kafka has taken.
        acknowledged: u64,
        /// Of how many.
        messages: u64,
        /// What stopped it.
        why: String,
    },
}

impl From<diesel::result::Error> for OperatorError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Does what the command says. `tell` gets a line for people now and then while it lasts.
pub async fn run(
    command: Command,
    context: &OperatorContext,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<CommandOutput, OperatorError> {
    match command {
        Command::Status(status) => status.run(context).await,
        Command::Republish(republish) => republish.run(context, tell).await,
    }
}
