//! `inventory release`: releases the stock that is held for a cancelled order.
//!
//! inventory learns of a cancellation by its message alone. If that message waits, redrive it. If an operator has
//! discarded it, this command makes up for it; the audit fact of the discard is the evidence that the order is cancelled.

use clap::Args;
use contracts::OrderId;
use contracts::events::OrderCancelled;
use database::{Database, Tx};
use inbox::{HandlerError, has_discarded};
use operators::{Change, CommandOutput, Outcome};
use runtime::Service;
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
    change: Change,
}

#[derive(Serialize)]
struct Report {
    order_id: Uuid,
    /// True if this command released the stock.
    released: bool,
    /// Why the command is refused, and what to do instead.
    refused: Option<&'static str>,
}

impl Release {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput, HandlerError> {
        self.change.run(database, async |tx| self.release(tx).await).await
    }

    async fn release(&self, tx: &mut Tx) -> Result<Outcome<Report>, HandlerError> {
        let order = OrderId::from(self.order_id);
        let report = |released, refused| Report { order_id: self.order_id, released, refused };
        let refused = |why| {
            Outcome::refused(
                report(false, Some(why)),
                format!("the stock of order {order} is not released: {why}"),
            )
        };
        let Some(row) = tx.lock::<ReservationRow>(order).await? else {
            return Ok(refused("nothing is reserved for it"));
        };
        let tenant = match row.reservation.state {
            State::Shipped => return Ok(refused("its stock is shipped")),
            State::Released => {
                let sentence = format!("the stock of order {order} is released already");
                return Ok(Outcome::unchanged(report(false, None), sentence));
            }
            State::Held => row.tenant.clone(),
        };
        if !has_discarded::<OrderCancelled>(tx, Inventory::NAME, &tenant, order.uuid()).await? {
            return Ok(refused(
                "no cancellation of it was discarded here, so it may still be shipped; if its cancellation waits, \
                 redrive it (inventory inbox parked); if the order is open, expire it (orders expire)",
            ));
        }
        transitions::apply(tx, &tenant, order, Input::OrderCancelled).await?;
        let fact = self.change.fact(Some(&tenant), "reservation.release", "reservation", order);
        Ok(Outcome::changed(report(true, None), format!("the stock of order {order} is released"), fact))
    }
}
