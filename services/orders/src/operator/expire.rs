//! `orders expire`: cancels an open order before its time is over, by the same transition as the job.
//!
//! inventory releases the stock, and payments refunds a charge: both follow the event, as after any expiry.

use clap::Args;
use database::{Database, Tx};
use operators::{Change, CommandOutput, Outcome};
use serde::Serialize;
use uuid::Uuid;

use super::show::not_found;
use crate::domain::{Cause, CauseKind, Input, Status};
use crate::store::orders::{self, OrderRow};
use crate::transitions::{self, TransitionError};

/// The arguments.
#[derive(Debug, Args)]
pub struct Expire {
    /// The order, or its payment
    order_id: Uuid,
    #[command(flatten)]
    change: Change,
}

#[derive(Serialize)]
struct Report {
    order_id: Uuid,
    /// True if this command cancelled the order.
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
        self.change.run(database, async |tx| self.expire(tx, &found).await).await
    }

    async fn expire(&self, tx: &mut Tx, found: &OrderRow) -> Result<Outcome<Report>, TransitionError> {
        let (tenant, id) = (found.tenant()?, found.id());
        let fact = self.change.fact(Some(&tenant), "order.expire", "order", id);
        let by = self.change.operator().actor();
        let cause = Cause { kind: CauseKind::Request, id: fact.operation().uuid(), by };
        let before = orders::lock(tx, &tenant, id).await?.ok_or(TransitionError::OrderNotFound)?;
        let order = transitions::apply(tx, &tenant, id, Input::Expire, &cause).await?;
        let (expired, status) = (order.sequence > before.sequence, Status::from(order.state()?));
        let report = Report { order_id: order.id, expired, status: status.into() };
        Ok(if expired {
            let sentence = format!(
                "order {id} is cancelled as expired; inventory releases its stock, and payments refunds a charge"
            );
            Outcome::changed(report, sentence, fact)
        } else if status == Status::Cancelled {
            Outcome::unchanged(report, format!("order {id} is cancelled already"))
        } else {
            let status = report.status;
            Outcome::refused(report, format!("order {id} is not cancelled: it is {status} and stays so"))
        })
    }
}
