//! What `inventory` does about what `orders` says: hold stock, let it ship, set it free.

use std::collections::BTreeSet;

use contracts::events::{
    OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested, StockRejected, StockReleased,
    StockReserved, StockShipped,
};
use contracts::{Event, ItemId, Message, OrderId, TenantId};
use database::Tx;
use inbox::{Consumer, HandlerError, LockKeys};

use crate::discarded::what_stays_open;
use crate::domain::{Decision, Input, Line, State, decide, reservation};
use crate::store::{items, movements, reservations};

/// The consumer `inventory`.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("inventory")
        .locking(lock)
        .warning(what_stays_open)
        .on::<OrderPlaced>(items_of, async |tx, m| {
            let lines = Line::of_order(m.tenant(), &m.lines)?;
            advance(tx, m.tenant(), m.order, Input::Placed(lines)).await
        })
        .on::<OrderConfirmed>(
            |m| reservation_of(m.order),
            async |tx, m| advance(tx, m.tenant(), m.order, Input::Confirmed).await,
        )
        .on::<OrderCancelled>(
            |m| reservation_of(m.order),
            async |tx, m| advance(tx, m.tenant(), m.order, Input::Cancelled).await,
        )
        .ignoring::<PaymentRequested>()
}

/// The kinds of rows that the handlers need locked: an item, and a reservation (by its order) with its items.
const ITEM: &str = "item";
const RESERVATION: &str = "reservation";

fn items_of(m: &Message<OrderPlaced>) -> LockKeys {
    LockKeys::of(ITEM, m.lines.iter().map(|line| ItemId::of(m.tenant(), &line.sku).uuid()))
}

fn reservation_of(order: OrderId) -> LockKeys {
    LockKeys::of(RESERVATION, [order.uuid()])
}

/// Locks the rows of a batch: first the reservations by order, then all items by tenant and SKU, each in one sorted
/// statement.
async fn lock(tx: &mut Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    let mut items: BTreeSet<ItemId> = keys.take(ITEM).into_iter().map(ItemId::from).collect();
    let orders: Vec<OrderId> = keys.take(RESERVATION).into_iter().map(OrderId::from).collect();
    if !orders.is_empty() {
        items.extend(reservations::lock(tx, &orders).await?);
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
