//! The command of operators that only `inventory` has, and the warnings before a parked message is discarded.

mod discard_warnings;
mod release;

use std::error::Error;

use clap::Subcommand;
use operators::{CommandOutput, OperatorCommand};
use runtime::Context;

use crate::Inventory;

pub(crate) use discard_warnings::discard_warnings;

/// The command below `inventory` that no other service has.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Release the stock that is held for a cancelled order whose cancellation was discarded
    Release(release::Release),
}

impl OperatorCommand<Context<Inventory>> for Command {
    async fn run(self, context: &Context<Inventory>) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Release(release) => Ok(release.run(&context.database).await?),
        }
    }
}
