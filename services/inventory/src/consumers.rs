//! Routes the events of `orders` to `transitions`. Decides nothing and writes nothing.

use std::collections::BTreeSet;

use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested};
use contracts::{ItemId, OrderId};
use database::Tx;
use envelope::Message;
use inbox::{Consumer, HandlerError, LockKeys};

use crate::domain::{Input, ReservationLine};
use crate::store::reservations::ReservationRow;
use crate::store::stock::StockRow;
use crate::transitions;

/// The consumer `inventory`: for each event type, the rows that its handler needs locked, and the handler.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("inventory")
        .locking(lock)
        .on::<OrderPlaced>(rows_of, async |tx, m| {
            let lines = ReservationLine::from_order(m.tenant(), &m.lines)?;
            transitions::apply(tx, m.tenant(), m.order, Input::OrderPlaced(lines)).await
        })
        .on::<OrderConfirmed>(
            |m| reservation_of(m.order),
            async |tx, m| transitions::apply(tx, m.tenant(), m.order, Input::OrderConfirmed).await,
        )
        .on::<OrderCancelled>(
            |m| reservation_of(m.order),
            async |tx, m| transitions::apply(tx, m.tenant(), m.order, Input::OrderCancelled).await,
        )
        .ignoring::<PaymentRequested>()
}

/// The kinds of rows that the handlers need locked: an item, and a reservation (by its order) with its items.
const ITEM: &str = "item";
const RESERVATION: &str = "reservation";

fn rows_of(m: &Message<OrderPlaced>) -> LockKeys {
    let items = m.lines.iter().map(|line| ItemId::of(m.tenant(), &line.sku).uuid());
    reservation_of(m.order).and(LockKeys::of(ITEM, items))
}

fn reservation_of(order: OrderId) -> LockKeys {
    LockKeys::of(RESERVATION, [order.uuid()])
}

/// Locks the rows of a batch: first the reservations by order, then all items by tenant and SKU, each in one sorted
/// statement.
async fn lock(tx: &Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    let mut items: BTreeSet<ItemId> = keys.take(ITEM).into_iter().map(ItemId::from).collect();
    let orders: Vec<OrderId> = keys.take(RESERVATION).into_iter().map(OrderId::from).collect();
    tx.lock_all::<ReservationRow>(orders.iter().copied()).await?;
    for order in orders {
        if let Some(held) = tx.lock::<ReservationRow>(order).await? {
            items.extend(held.reservation.lines.iter().map(|line| line.item));
        }
    }
    Ok(tx.lock_all::<StockRow>(items).await?)
}
