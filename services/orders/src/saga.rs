//! The process manager: loads an order, lets the table decide, and carries the decision out. The only place where an
//! order changes.

use contracts::events::{CancelReason, OrderCancelled, OrderConfirmed, PaymentRequested};
use contracts::{OrderId, PaymentId, TenantId, Timestamp};
use database::{Tx, UnitOfWork};
use outbox::AppendError;

use crate::domain::{Conflict, Decision, Input, Order, State, Tell, decide};
use crate::store::orders::{self, OrderRow};
use crate::store::timeline::NewEntry;
use crate::timeline::{Cause, What};

/// Why an order was not moved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("there is no such order")]
    NoOrder,
    #[error("the order's state does not allow it: {0:?}")]
    Conflict(Conflict),
}

/// What became of it.
pub(crate) struct Moved {
    /// The order as it is now.
    pub(crate) order: OrderRow,
    /// Whether this input changed it.
    pub(crate) changed: bool,
}

/// Moves an order by one input, and tells the others what follows. What was heard and told stands in its timeline.
pub(crate) async fn advance(
    tx: &mut Tx,
    tenant: &TenantId,
    id: OrderId,
    input: Input,
    cause: &Cause,
) -> Result<Moved, Fault> {
    let row = orders::lock(tx, tenant, id).await?.ok_or(Fault::NoOrder)?;
    let order = Order { state: row.state()? };
    match decide(&order, &input).map_err(Fault::Conflict)? {
        Decision::Stay => {
            if let Some(heard) = What::heard(&input) {
                tx.buffer(NewEntry::without_effect(&row, heard, cause)?);
            }
            Ok(Moved { order: row, changed: false })
        }
        Decision::Become(state, tell) => {
            let order = become_(tx, tenant, &row, &state, tell).await?;
            for what in What::heard(&input).into_iter().chain([What::told(tell)]) {
                tx.buffer(NewEntry::of_change(&order, what, cause)?);
            }
            tracing::info!(order = %id, ?state, "OrderMoved");
            Ok(Moved { order, changed: true })
        }
    }
}

async fn become_(
    tx: &mut Tx,
    tenant: &TenantId,
    row: &OrderRow,
    state: &State,
    tell: Tell,
) -> Result<OrderRow, Fault> {
    let payment = match tell {
        Tell::PaymentRequested => Some(PaymentId::generate()),
        Tell::Confirmed | Tell::Cancelled(_) => row.payment_id.map(PaymentId::from),
    };
    let sequence = row.sequence + 1;
    let updated = orders::update(tx, row.id(), state, payment, sequence).await?;
    match tell {
        Tell::PaymentRequested => outbox::append(tx, tenant, sequence, &payment_requested(row, payment)?)?,
        Tell::Confirmed => outbox::append(tx, tenant, sequence, &order_confirmed(row, payment)?)?,
        Tell::Cancelled(reason) => outbox::append(tx, tenant, sequence, &order_cancelled(row, reason))?,
    };
    Ok(updated)
}

fn payment_requested(row: &OrderRow, payment: Option<PaymentId>) -> Result<PaymentRequested, Fault> {
    Ok(PaymentRequested {
        order: row.id(),
        payment: payment.ok_or(Fault::Conflict(Conflict::Impossible))?,
        amount: row.total()?,
        payment_method: row.payment_method.clone(),
        expires_at: Timestamp::from_rfc3339(database::time::to_rfc3339(row.expires_at)),
    })
}

fn order_confirmed(row: &OrderRow, payment: Option<PaymentId>) -> Result<OrderConfirmed, Fault> {
    Ok(OrderConfirmed { order: row.id(), payment: payment.ok_or(Fault::Conflict(Conflict::Impossible))? })
}

fn order_cancelled(row: &OrderRow, reason: CancelReason) -> OrderCancelled {
    OrderCancelled { order: row.id(), reason }
}

impl From<Fault> for edge::CommandError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Database(error) => Self::Database(error),
            Fault::Append(error) => error.into(),
            Fault::NoOrder => Self::Rejected(edge::Problem::not_found("order")),
            Fault::Conflict(conflict) => conflict.into(),
        }
    }
}

impl From<Fault> for inbox::HandlerError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Database(error) => Self::Database(error),
            other => Self::Refused(other.to_string()),
        }
    }
}
