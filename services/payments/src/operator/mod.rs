//! The commands of operators that only `payments` has, and the warnings before a parked message is discarded.

mod discard_warnings;
mod hand_refund;
mod reconcile;
mod resolve_review;
mod retry_refund;
mod review;

use std::error::Error;

use clap::Subcommand;
use operators::{CommandOutput, OperatorCommand};

use crate::context::Context;

pub(crate) use discard_warnings::discard_warnings;

/// The commands below `payments` that no other service has.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List, show and resolve reviews: questions about money that only a person can answer
    #[command(subcommand)]
    Review(review::Command),
    /// Make failed refunds again
    #[command(subcommand)]
    Refund(retry_refund::Command),
    /// Compare our records with the processor's, and open reviews of differences; the exit code is 0 if they agree
    Reconcile(reconcile::Reconcile),
}

impl OperatorCommand<Context> for Command {
    fn needs(&self) -> &'static [&'static str] {
        match self {
            Self::Review(command) if command.asks_processor() => &["processor.secret_key"],
            Self::Review(_) | Self::Refund(_) => &[],
            Self::Reconcile(_) => &["processor.secret_key"],
        }
    }

    fn only_reads(&self) -> bool {
        match self {
            Self::Review(command) => command.only_reads(),
            Self::Refund(_) | Self::Reconcile(_) => false,
        }
    }

    async fn run(self, context: &Context) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Review(command) => Ok(command.run(context).await?),
            Self::Refund(command) => Ok(command.run(context).await?),
            Self::Reconcile(command) => Ok(command.run(context).await?),
        }
    }
}
