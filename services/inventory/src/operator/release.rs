//! `inventory release`: releases the stock that is held for a cancelled order.
//!
//! inventory learns of a cancellation by its message alone. If that message waits, redrive it. If an operator has
//! discarded it, this command makes up for it; the audit fact of the discard is the evidence that the order is cancelled.

use audit::{Fact, Operator};
use clap::Args;
use contracts::OrderId;
use contracts::events::OrderCancelled;
use database::{Database, Tx};
use inbox::HandlerError;
use inbox::operator::has_discarded;
use runtime::{CommandOutput, Service};
use serde::Serialize;
use uuid::Uuid;

use crate::domain::{Input, State};
use crate::store::reservations::ReservationRow;
use crate::{Inventory, transitions};

/// The arguments.
#[derive(Debug, Args)]
pub struct Release {
    /// The cancelled order
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
    /// True if this command released the stock. In a dry run: true if the command would do so.
    released: bool,
    /// Why the command is refused, and what to do instead.
    refused: Option<&'static str>,
}

impl Release {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput, HandlerError> {
        let order = OrderId::from(self.order_id);
        let mut tx = database.begin().await?;
        let (released, refused) = match self.release(&mut tx, order).await? {
            Ok(released) => (released, None),
            Err(refused) => (false, Some(refused)),
        };
        if released && !self.dry_run {
            tx.commit().await?;
        } else {
            tx.flush().await?;
            tx.rollback().await?;
        }
        let report = Report { dry_run: self.dry_run, order_id: self.order_id, released, refused };
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    /// Releases the stock. Returns whether it was held, or why it must not be released.
    async fn release(&self, tx: &mut Tx, order: OrderId) -> Result<Result<bool, &'static str>, HandlerError> {
        let Some(row) = tx.lock::<ReservationRow>(order).await? else {
            return Ok(Err("nothing is reserved for it"));
        };
        let tenant = match row.reservation.state {
            State::Shipped => return Ok(Err("its stock is shipped")),
            State::Released => return Ok(Ok(false)),
            State::Held => row.tenant.clone(),
        };
        if !has_discarded::<OrderCancelled>(tx, Inventory::NAME, &tenant, order.uuid()).await? {
            return Ok(Err(
                "no cancellation of it was discarded here, so it may still be shipped; if its cancellation waits, \
                           redrive it (inventory inbox parked); if the order is open, expire it (orders expire)",
            ));
        }
        transitions::apply(tx, &tenant, order, Input::OrderCancelled).await?;
        let tenant = Some(&tenant);
        audit::record(
            tx,
            Fact::by_operator(&self.operator, tenant, "reservation.release", "reservation", order),
        );
        Ok(Ok(true))
    }
}

impl Report {
    fn text(&self) -> String {
        let id = self.order_id;
        match (&self.refused, self.released) {
            (Some(refused), _) => format!("the stock of order {id} is not released: {refused}\n"),
            (None, false) => format!("the stock of order {id} is released already\n"),
            (None, true) if self.dry_run => {
                format!("the stock of order {id} would be released\nthis was a dry run: nothing changed\n")
            }
            (None, true) => format!("the stock of order {id} is released\n"),
        }
    }
}
