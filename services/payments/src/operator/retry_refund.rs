//! `payments refund retry`: makes a failed refund again, as a new refund that follows the failed one.

use audit::Operator;
use clap::{Args, Subcommand};
use contracts::RefundId;
use envelope::ClientId;
use runtime::{CommandOutput, Context};
use serde::Serialize;
use uuid::Uuid;

use super::resolve_review::operator_name;
use crate::Payments;
use crate::store::{payments, refunds};
use crate::transitions::{TransitionError, retry_refund};

/// The commands below `payments refund`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a failed refund again, with a new request, and resolve its review
    Retry(Retry),
}

impl Command {
    pub(super) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, TransitionError> {
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
    #[arg(long, value_name = "NAME", alias = "by", env = "USER", hide_env_values = true, value_parser = operator_name)]
    operator: ClientId,
    /// Make the change, print the result, and roll it back
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    refund_id: RefundId,
    /// The new refund; null if the command is refused.
    next: Option<RefundId>,
    /// Why the command is refused, and what to do instead.
    refused: Option<String>,
}

impl Retry {
    async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, TransitionError> {
        let refund_id = RefundId::from(self.refund_id);
        let mut connection = context.database.connection().await?;
        let found = refunds::find_of_any_tenant(&mut connection, refund_id).await?;
        drop(connection);
        let Some((_, payment)) = found else {
            let text = format!("there is no refund {}\n", self.refund_id);
            return Ok(CommandOutput { text, done: false });
        };
        let mut tx = context.database.begin().await?;
        let payment = payments::lock(&mut tx, payment.id()).await?;
        let operator = Operator::new(self.operator.clone(), self.why.clone());
        let bodies = &context.settings.bodies;
        let (next, refused) = match retry_refund(&mut tx, bodies, &payment, refund_id, &operator).await? {
            Ok(next) => (Some(next), None),
            Err(instead) => (None, Some(instead)),
        };
        if refused.is_some() {
            tx.rollback().await?;
        } else if self.dry_run {
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        let report = Report { dry_run: self.dry_run, refund_id, next, refused };
        Ok(CommandOutput::new(self.json, report.next.is_some(), &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        let id = self.refund_id;
        match (&self.refused, &self.next) {
            (Some(refused), _) => format!("refund {id} is not made again: {refused}\n"),
            (None, Some(_)) if self.dry_run => {
                format!("refund {id} would be made again\nthis was a dry run: nothing changed\n")
            }
            (None, next) => {
                let next = next.map(|next| next.to_string()).unwrap_or_default();
                format!("refund {id} is made again as {next}\n")
            }
        }
    }
}
