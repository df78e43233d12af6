//! `payments refund retry`: makes a failed refund again, as a new refund that follows the failed one.

use clap::{Args, Subcommand};
use contracts::RefundId;
use envelope::ClientId;
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
    /// Why the refund can succeed now; the audit stores the text
    #[arg(long, value_name = "TEXT", alias = "note", alias = "reason", value_parser = audit::reason)]
    why: String,
    /// Your name; the audit stores it as @operator:NAME. Default: the user who is logged in
    #[arg(long, value_name = "NAME", alias = "by", env = "USER", hide_env_values = true, value_parser = operators::operator_name)]
    operator: ClientId,
    /// Make the change, print the result, and roll it back
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    refund_id: RefundId,
    /// The new refund; null if the command is refused.
    next: Option<RefundId>,
    /// Why the command is refused, and what to do instead.
    refused: Option<String>,
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
        let change = Change::new(self.operator, self.why, self.dry_run, self.json);
        let retry = async |tx: &mut _| {
            let payment = payments::lock(tx, payment.id()).await?;
            let policy = &context.settings.policy;
            let next = retry_refund(tx, policy, &payment, refund_id, &change.operator()).await?;
            let report = Report { refund_id, next: Some(next), refused: None };
            Ok(Outcome::recorded(report, format!("refund {refund_id} is made again as {next}")))
        };
        match change.run(&context.database, retry).await {
            Err(TransitionError::Refused(instead)) => {
                let sentence = format!("refund {refund_id} is not made again: {instead}");
                let report = Report { refund_id, next: None, refused: Some(instead) };
                Ok(Outcome::refused(report, sentence).output(&change))
            }
            retried => retried,
        }
    }
}
