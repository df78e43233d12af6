//! What `inventory` does about what `orders` says: hold stock, let it ship, set it free.

use std::collections::BTreeSet;

use contracts::events::{
    OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested, StockRejected, StockReleased,
    StockReserved, StockShipped,
};
use contracts::{Event, ItemId, Message, OrderId, TenantId};
use database::Tx;
use inbox::{Consumer, HandlerError, Incoming};

use crate::discarded::what_stays_open;
use crate::domain::{Decision, Input, Line, State, decide, reservation};
use crate::store::{items, movements, reservations};

/// The consumer `inventory`.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("inventory")
        .locking(lock)
        .warning(what_stays_open)
        .on(async |tx, m: &Message<OrderPlaced>| {
            let lines = Line::of_order(m.tenant(), &m.lines)?;
            advance(tx, m.tenant(), m.order, Input::Placed(lines)).await
        })
        .on(async |tx, m: &Message<OrderConfirmed>| advance(tx, m.tenant(), m.order, Input::Confirmed).await)
        .on(async |tx, m: &Message<OrderCancelled>| advance(tx, m.tenant(), m.order, Input::Cancelled).await)
        .ignoring::<PaymentRequested>()
}

/// Locks what the batch will touch: reservations by order, then items by tenant and SKU, each in one sorted statement.
/// Batches that want the same rows in another order wait here instead of deadlocking.
async fn lock(tx: &mut Tx, batch: &[Incoming]) -> Result<(), HandlerError> {
    let mut items = BTreeSet::new();
    let mut ended = Vec::new();
    for incoming in batch {
        let tenant = &incoming.envelope().tenant;
        if let Some(placed) = incoming.data::<OrderPlaced>() {
            items.extend(placed.lines.iter().map(|line| ItemId::of(tenant, &line.sku)));
        } else if let Some(confirmed) = incoming.data::<OrderConfirmed>() {
            ended.push(confirmed.order);
        } else if let Some(cancelled) = incoming.data::<OrderCancelled>() {
            ended.push(cancelled.order);
        }
    }
    if !ended.is_empty() {
        items.extend(reservations::lock(tx, &ended).await?);
    }
    if !items.is_empty() {
        items::lock_stock(tx, items).await?;
    }
    Ok(())
}

/// Moves an order's reservation by one input.
async fn advance(tx: &mut Tx, tenant: &TenantId, order: OrderId, input: Input) -> Result<(), HandlerError> {
    let reservation = reservations::find(tx, tenant, order).await?;
    // A confirmation of what is not held is refused by the table, a second reservation by its key.
    if reservation.is_none() && input == Input::Cancelled && reservations::holder(tx, order).await?.is_some()
    {
        return Err(HandlerError::Refused(format!("order {order} is not an order of {tenant}")));
    }
    match decide(reservation, input)? {
        Decision::Reserve(lines) => reserve(tx, tenant, order, &lines).await,
        Decision::Ship(lines) => ship(tx, tenant, order, &lines).await,
        Decision::Release(lines) => release(tx, tenant, order, &lines).await,
        Decision::Stay => Ok(()),
    }
}

async fn reserve(tx: &mut Tx, tenant: &TenantId, order: OrderId, lines: &[Line]) -> Result<(), HandlerError> {
    let stocks = items::lock_stock(tx, lines.iter().map(|line| line.item)).await?;
    match reservation::reserve(lines, &stocks) {
        Ok(stocks) => {
            let sequence = reservations::hold(tx, tenant, order, lines).await?;
            items::set_stock(tx, &stocks).await?;
            tell(tx, tenant, sequence, &StockReserved { order })
        }
        // No row: a refusal is the only event that this history will ever have.
        Err(missing) => tell(tx, tenant, 1, &StockRejected { order, missing }),
    }
}

async fn ship(tx: &mut Tx, tenant: &TenantId, order: OrderId, lines: &[Line]) -> Result<(), HandlerError> {
    let stocks = items::lock_stock(tx, lines.iter().map(|line| line.item)).await?;
    items::set_stock(tx, &reservation::ship(lines, &stocks)?).await?;
    movements::record_shipment(tx, tenant, order, lines).await?;
    let sequence = reservations::end(tx, tenant, order, State::Shipped).await?;
    tell(tx, tenant, sequence, &StockShipped { order })
}

async fn release(tx: &mut Tx, tenant: &TenantId, order: OrderId, lines: &[Line]) -> Result<(), HandlerError> {
    let stocks = items::lock_stock(tx, lines.iter().map(|line| line.item)).await?;
    items::set_stock(tx, &reservation::release(lines, &stocks)?).await?;
    let sequence = reservations::end(tx, tenant, order, State::Released).await?;
    tell(tx, tenant, sequence, &StockReleased { order })
}

fn tell<E: Event>(tx: &mut Tx, tenant: &TenantId, sequence: i64, event: &E) -> Result<(), HandlerError> {
    outbox::append(tx, tenant, sequence, event).map_err(|error| HandlerError::Refused(error.to_string()))?;
    Ok(())
}
