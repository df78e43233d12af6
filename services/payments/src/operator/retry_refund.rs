//! `payments refund retry`: makes a failed refund again, as a new refund that follows the failed one.

use clap::{Args, Subcommand};
use contracts::RefundId;
use operators::{Change, CommandOutput, Outcome};
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::store::{payments, refunds};
use crate::transitions::{TransitionError, retry_refund};

/// The commands below `payments refund`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a failed refund again, with a new request, and resolve its review
    Retry(Retry),
}

impl Command {
    pub(super) async fn run(self, context: &Context) -> Result<CommandOutput, TransitionError> {
        match self {
            Self::Retry(retry) => retry.run(context).await,
        }
    }
}

/// The arguments.
#[derive(Debug, Args)]
pub struct Retry {
    /// The failed refund
    refund_id: Uuid,
    #[command(flatten)]
    change: Change,
}

#[derive(Serialize)]
struct Report {
    refund_id: RefundId,
    /// The new refund.
    next: RefundId,
}

impl Retry {
    async fn run(self, context: &Context) -> Result<CommandOutput, TransitionError> {
        let refund_id = RefundId::from(self.refund_id);
        let mut connection = context.database.connection().await?;
        let found = refunds::find_of_any_tenant(&mut connection, refund_id).await?;
        drop(connection);
        let Some((_, payment)) = found else {
            return Ok(CommandOutput::not_found(format!("there is no refund {refund_id}")));
        };
        let retry = async |tx: &mut _| {
            let payment = payments::lock(tx, payment.id()).await?;
            let policy = &context.settings.policy;
            let next = retry_refund(tx, policy, &payment, refund_id, &self.change.operator()).await?;
            let report = Report { refund_id, next };
            Ok(Outcome::recorded(report, format!("refund {refund_id} is made again as {next}")))
        };
        self.change.run(&context.database, retry).await
    }
}
