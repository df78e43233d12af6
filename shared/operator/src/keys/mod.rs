//! `SERVICE keys show` and `keys release`: what became of a request with a key, and a second chance for one without an effect.

mod release;
mod show;

use std::error::Error;

use clap::Subcommand;

use crate::{CommandOutput, Installation, OperatorCommand};

/// The commands below `SERVICE keys`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Show every operation of a client's key
    Show(show::Show),
    /// Free the key of an operation that had no effect and never will
    Release(release::Release),
}

impl OperatorCommand<Installation> for KeysCommand {
    fn only_reads(&self) -> bool {
        matches!(self, Self::Show(_))
    }

    async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        match self {
            Self::Show(show) => show.run(context).await,
            Self::Release(release) => release.run(context).await,
        }
    }
}
