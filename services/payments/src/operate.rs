//! What operators can do with payments beside what they can do with every service: one room, one command.

use std::error::Error;

use clap::Subcommand;
use runtime::{CommandOutput, Context, ServiceCommand};

use crate::reconcile::Reconcile;
use crate::{Payments, ledger, review};

/// The commands below `payments` that no other service has.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See what waits for a person, and say what became of the money
    #[command(subcommand)]
    Review(review::Command),
    /// Compare our books with the processor's; the exit code is 0 if all agrees
    Reconcile(Reconcile),
    /// Hold the ledger against what it is made of
    #[command(subcommand)]
    Ledger(ledger::Command),
}

impl ServiceCommand<Payments> for Command {
    fn needs(&self) -> &'static [&'static str] {
        match self {
            Self::Review(_) | Self::Ledger(_) => &[],
            Self::Reconcile(_) => &["processor.secret_key"],
        }
    }

    async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Review(command) => Ok(command.run(context).await?),
            Self::Reconcile(command) => Ok(command.run(context).await?),
            Self::Ledger(command) => Ok(command.run(&context.database).await?),
        }
    }
}
