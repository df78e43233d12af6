//! `SERVICE relay step-down`: ends the lease of the active relay, so that the next one takes over.
//!
//! For a relay that renews its lease and does not publish. No message is lost: the next term continues from the cursor, which the
//! former holder can no longer move.

use std::error::Error;

use clap::{Args, Subcommand};
use database::Tx;
use serde::Serialize;
use serde_json::json;

use crate::{Change, CommandOutput, Installation, OperatorCommand, Outcome};

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
    change: Change,
}

#[derive(Serialize)]
struct Report {
    /// The relay whose lease has ended; null if no relay was active.
    relay: Option<String>,
}

impl OperatorCommand<Installation> for RelayCommand {
    async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let Self::StepDown(StepDown { change }) = self;
        let step_down = async |tx: &mut Tx| -> database::Result<Outcome<Report>> {
            let report = Report { relay: ::outbox::end_lease(tx, &change.operator().actor()).await? };
            let Some(relay) = &report.relay else {
                return Ok(Outcome::unchanged(report, "no relay is active"));
            };
            let sentence = format!(
                "the lease of relay {relay} has ended; the next relay takes over within seconds (see outbox status)"
            );
            let fact = change.fact(None, "relay.step_down", "outbox", "relay").with(json!(report));
            Ok(Outcome::changed(report, sentence, fact))
        };
        Ok(change.run(&context.database, step_down).await?)
    }
}
