//! `orders expire`: cancels an open order before its time is over, by the same transition as the job.
//!
//! inventory releases the stock, and payments refunds a charge: both follow the event, as after any expiry.

use audit::{Fact, Operator};
use clap::Args;
use database::Database;
use runtime::CommandOutput;
use serde::Serialize;
use uuid::Uuid;

use super::show::not_found;
use crate::domain::{Cause, CauseKind, Input, Status};
use crate::store::orders;
use crate::transitions::{self, TransitionError};

/// The arguments.
#[derive(Debug, Args)]
pub struct Expire {
    /// The order, or its payment
    order_id: Uuid,
    #[command(flatten)]
    operator: Operator,
    /// Show what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    order_id: Uuid,
    /// True if this command cancelled the order. In a dry run: true if the command would do so.
    expired: bool,
    /// The status after the command.
    status: &'static str,
}

impl Expire {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput, TransitionError> {
        let mut connection = database.connection().await?;
        let found = orders::find_by_order_or_payment(&mut connection, self.order_id).await?;
        drop(connection);
        let Some(found) = found else { return Ok(not_found(self.order_id)) };
        let (tenant, id) = (found.tenant()?, found.id());

        let fact = Fact::by_operator(&self.operator, Some(&tenant), "order.expire", "order", id);
        let cause =
            Cause { kind: CauseKind::Request, id: fact.operation().uuid(), by: self.operator.actor() };
        let mut tx = database.begin().await?;
        let before = orders::lock(&mut tx, &tenant, id).await?.ok_or(TransitionError::OrderNotFound)?;
        let order = transitions::apply(&mut tx, &tenant, id, Input::Expire, &cause).await?;
        let (expired, status) = (order.sequence > before.sequence, order.state()?.status());
        if expired {
            audit::record(&mut tx, fact);
            tx.flush().await?;
        }
        if expired && !self.dry_run {
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        let report = Report { dry_run: self.dry_run, order_id: order.id, expired, status: status.into() };
        Ok(CommandOutput::new(self.json, status == Status::Cancelled, &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        let id = self.order_id;
        match (self.expired, self.dry_run) {
            (true, true) => {
                format!("order {id} would be cancelled as expired\nthis was a dry run: nothing changed\n")
            }
            (true, false) => format!(
                "order {id} is cancelled as expired; inventory releases its stock, and payments refunds a charge\n"
            ),
            (false, _) if self.status == "cancelled" => format!("order {id} is cancelled already\n"),
            (false, _) => format!("order {id} is not cancelled: it is {} and stays so\n", self.status),
        }
    }
}
