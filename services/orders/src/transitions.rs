//! Every change of an order: lock the row, decide, write, announce.
//!
//! No other module changes an order. The row, its event and its timeline entries are written in the caller's
//! transaction: all of them or none. Callers write what only they know, such as the audit fact of a request.

use contracts::events::{
    ItemChanged, OrderCancelled, OrderConfirmed, OrderLine, OrderPlaced, PaymentCaptured, PaymentRequested,
};
use contracts::{ItemId, OrderId, PaymentId};
use database::{Locked, Tx, UnitOfWork};
use edge::{CommandError, Problem};
use envelope::{Message, TenantId, Timestamp};
use inbox::HandlerError;
use outbox::AppendError;

use crate::domain::{
    Announcement, Cause, Conflict, Decision, EntryKind, Input, PricedLine, State, Status, decide,
};
use crate::metrics::count_reached;
use crate::store::orders::{self, NewOrder, OrderRow};
use crate::store::{catalogue, timeline};

/// Why a change was not made. The caller's transaction must not commit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransitionError {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("there is no such order")]
    OrderNotFound,
    #[error("the order's state does not allow it: {0:?}")]
    Conflict(Conflict),
}

impl From<TransitionError> for CommandError {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Database(error) => Self::Database(error),
            TransitionError::Append(error) => error.into(),
            TransitionError::OrderNotFound => Self::Rejected(Problem::not_found("order")),
            TransitionError::Conflict(conflict) => conflict.into(),
        }
    }
}

/// Except for database errors, trying again does not help: the message is parked.
impl From<TransitionError> for HandlerError {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Database(error) => Self::Database(error),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Places an order and announces it. Needs no lock, because no one else knows the new id.
#[tracing::instrument(name = "transition", skip_all)]
pub(crate) fn place(
    tx: &mut impl UnitOfWork,
    new: &NewOrder<'_>,
    cause: &Cause,
) -> Result<OrderRow, TransitionError> {
    let tenant = &new.caller.tenant;
    let total = new.priced.total;
    let line = |line: &PricedLine| OrderLine { sku: line.sku.clone(), quantity: line.quantity };
    let lines = new.priced.lines.iter().map(line).collect();
    let order = orders::insert(tx, OrderId::generate(), new)?;
    count_reached(tx, Status::Pending);
    outbox::append(tx, tenant, order.sequence, &OrderPlaced { order: order.id(), lines, total })?;
    timeline::add(tx, &order, EntryKind::OrderPlaced, cause, order.updated_at)?;
    Ok(order)
}

/// Locks an order of this tenant and applies the input. Returns the order as it is after that.
pub(crate) async fn apply(
    tx: &mut Tx,
    tenant: &TenantId,
    id: OrderId,
    input: Input,
    cause: &Cause,
) -> Result<Locked<OrderRow>, TransitionError> {
    let order = orders::lock(tx, tenant, id).await?.ok_or(TransitionError::OrderNotFound)?;
    apply_to_locked(tx, order, &input, cause)
}

/// Locks an order of this tenant and applies the capture of its payment. Refuses another payment, amount or currency than the
/// order requested. Otherwise a mistake in payments would ship an order that is not paid in full.
pub(crate) async fn apply_capture(
    tx: &mut Tx,
    id: OrderId,
    message: &Message<PaymentCaptured>,
) -> Result<(), HandlerError> {
    let PaymentCaptured { payment, amount, .. } = &message.data;
    let order = orders::lock(tx, message.tenant(), id).await?.ok_or(TransitionError::OrderNotFound)?;
    let (own, total) = (order.payment(), order.total()?);
    if own != Some(*payment) || total != *amount {
        let own = own.map_or("nothing".to_owned(), |own| format!("{total} by payment {own}"));
        let other = format!("payment {payment} captured {amount}, but order {id} requested {own}");
        return Err(HandlerError::Refused(other));
    }
    apply_to_locked(tx, order, &Input::PaymentCaptured, &Cause::message(&message.envelope))?;
    Ok(())
}

/// Applies the input to an order whose row this transaction has locked.
#[tracing::instrument(name = "transition", skip_all, fields(order = %order.id()))]
fn apply_to_locked(
    tx: &mut Tx,
    order: Locked<OrderRow>,
    input: &Input,
    cause: &Cause,
) -> Result<Locked<OrderRow>, TransitionError> {
    let received = EntryKind::of_input(input);
    match decide(&order.state()?, input).map_err(TransitionError::Conflict)? {
        Decision::NoChange => {
            if let Some(received) = received {
                timeline::add(tx, &order, received, cause, order.at())?;
            }
            Ok(order)
        }
        Decision::Change(state, announcement) => {
            let payment = (announcement == Announcement::PaymentRequested).then(|| PaymentId::of(order.id()));
            let order = orders::change(tx, order, &state, payment);
            count_reached(tx, Status::from(&state));
            announce(tx, &order, announcement)?;
            if let Some(received) = received {
                timeline::add(tx, &order, received, cause, order.at())?;
            }
            timeline::add(tx, &order, EntryKind::of_announcement(announcement), cause, order.at())?;
            log_moved(&order, &state);
            Ok(order)
        }
    }
}

/// Expires an open order that this transaction has locked. Returns whether it was open.
pub(crate) fn expire(tx: &mut Tx, order: &Locked<OrderRow>, cause: &Cause) -> Result<bool, TransitionError> {
    let expired = apply_to_locked(tx, order.clone(), &Input::Expire, cause)?;
    Ok(expired.sequence > order.sequence)
}

/// Logs the status alone, because a state can have the text of a client.
fn log_moved(order: &OrderRow, state: &State) {
    tracing::info!(order = %order.id(), status = <&str>::from(Status::from(state)), "OrderMoved");
}

/// Publishes the event of a change that was just written to `order`.
fn announce(tx: &mut Tx, order: &OrderRow, announcement: Announcement) -> Result<(), TransitionError> {
    let (tenant, sequence, id) = (order.tenant()?, order.sequence, order.id());
    match announcement {
        Announcement::PaymentRequested => {
            let event = PaymentRequested {
                order: id,
                payment: order.required_payment()?,
                amount: order.total()?,
                payment_method: order.payment_method.clone(),
                expires_at: Timestamp::from_rfc3339(database::time::to_rfc3339(order.expires_at)),
            };
            outbox::append(tx, &tenant, sequence, &event)?;
        }
        Announcement::OrderConfirmed => {
            let event = OrderConfirmed { order: id, payment: order.required_payment()? };
            outbox::append(tx, &tenant, sequence, &event)?;
        }
        Announcement::OrderCancelled(reason) => {
            outbox::append(tx, &tenant, sequence, &OrderCancelled { order: id, reason })?;
        }
    }
    Ok(())
}

/// Copies an item's name and price into the catalogue, unless the catalogue has a newer version.
///
/// Refuses an id that does not belong to tenant and SKU. Otherwise a forged event could change another item's price.
pub(crate) async fn update_catalogue(
    tx: &mut Tx,
    tenant: &TenantId,
    changed: &ItemChanged,
) -> Result<(), HandlerError> {
    let (item, sku) = (changed.item, &changed.sku);
    if item != ItemId::of(tenant, sku) {
        return Err(HandlerError::Refused(format!("item {item} is not the SKU {sku} of {tenant}")));
    }
    Ok(catalogue::put(tx, tenant, changed).await?)
}
