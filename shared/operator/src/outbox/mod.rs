//! `SERVICE outbox status`, `release` and `republish`, and `SERVICE relay step-down`. None changes the outbox or the position of
//! the cursor.

mod release;
mod republish;
mod status;
mod step_down;

use std::error::Error;

use clap::Subcommand;

use crate::{CommandOutput, Installation, OperatorCommand};

pub use step_down::RelayCommand;

/// The commands below `SERVICE outbox`.
#[derive(Debug, Subcommand)]
pub enum OutboxCommand {
    /// Show the relay, its cursor, the backlog, and the days of the outbox
    Status(status::Status),
    /// Let the relay publish the messages that Kafka refused, once the cause is removed
    Release(release::Release),
    /// Let the relay publish messages again that it has published before; consumers ignore duplicates
    Republish(republish::Republish),
}

impl OperatorCommand<Installation> for OutboxCommand {
    fn only_reads(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Status(status) => status.run(context).await,
            Self::Release(release) => release.run(context).await,
            Self::Republish(republish) => republish.run(context).await,
        }
    }
}
