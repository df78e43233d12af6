//! `SERVICE keys show` and `keys release`: what became of a request with a key, and a second chance for one without an effect.

mod release;
mod show;

use clap::Subcommand;
use database::Database;
use idempotency::KeyPolicy;

use crate::CommandOutput;

/// The commands below `SERVICE keys`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show every operation of a client's key
    Show(show::Show),
    /// Free the key of an operation that had no effect and never will
    Release(release::Release),
}

impl KeysCommand {
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, Self::Show(_))
    }

    /// Runs the command. `policy` says which spellings are the same key.
    pub(crate) async fn run(
        self,
        database: &Database,
        policy: KeyPolicy,
    ) -> Result<CommandOutput, Box<dyn std::error::Error>> {
        match self {
            Self::Show(show) => show.run(database, policy).await,
            Self::Release(release) => release.run(database).await,
        }
    }
}
