//! `SERVICE relay step-down`: ends the lease of the active relay, so that the next one takes over.
//!
//! For a relay that renews its lease and does not publish. No message is lost: the next term continues from the cursor, which the
//! former holder can no longer move.

use std::fmt;

use audit::{Fact, Operator};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::{CommandOutput, OperatorContext, OperatorError};
use crate::relay::end_lease;

/// The commands below `SERVICE relay`.
#[derive(Debug, Subcommand)]
pub enum RelayCommand {
    /// End the lease of the active relay; the next one takes over within seconds
    StepDown(StepDown),
}

/// The arguments.
#[derive(Debug, Args)]
pub struct StepDown {
    #[command(flatten)]
    operator: Operator,
    /// Show whose lease would end, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    /// The relay whose lease has ended; null if no relay was active.
    relay: Option<String>,
}

impl RelayCommand {
    /// Runs the command.
    pub async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let Self::StepDown(StepDown { operator, dry_run, json }) = self;
        let mut tx = context.database.begin().await?;
        let relay = end_lease(&mut tx, &operator.actor()).await?;
        let report = Report { dry_run, relay };
        if dry_run || report.relay.is_none() {
            tx.rollback().await?;
        } else {
            let fact = Fact::by_operator(&operator, None, "relay.step_down", "outbox", "relay");
            audit::record(&mut tx, fact.with(serde_json::json!(report)));
            tx.commit().await?;
        }
        Ok(CommandOutput::new(json, true, &report, Report::to_string))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.relay {
            None => writeln!(f, "no relay is active"),
            Some(relay) if self.dry_run => writeln!(f, "the lease of relay {relay} would end"),
            Some(relay) => writeln!(
                f,
                "the lease of relay {relay} has ended; the next relay takes over within seconds (see outbox status)"
            ),
        }
    }
}
