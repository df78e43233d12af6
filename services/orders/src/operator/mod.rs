//! The commands of operators that only `orders` has, and the warnings before a parked message is discarded.

mod discard_warnings;
mod expire;
mod show;

use std::error::Error;

use clap::Subcommand;
use operators::{CommandOutput, OperatorCommand};
use runtime::Context;

use crate::Orders;

pub(crate) use discard_warnings::discard_warnings;

/// The commands below `orders` that no other service has.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show an order and its timeline
    Show(show::Show),
    /// Cancel an open order now, as the job does once the order's time is over
    Expire(expire::Expire),
}

impl OperatorCommand<Context<Orders>> for Command {
    fn only_reads(&self) -> bool {
        matches!(self, Self::Show(_))
    }

    async fn run(self, context: &Context<Orders>) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Show(show) => Ok(show.run(&context.database).await?),
            Self::Expire(expire) => Ok(expire.run(&context.database).await?),
        }
    }
}
