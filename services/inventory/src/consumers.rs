//! Routes the events of `orders` to `transitions`. Decides nothing and writes nothing.

use std::collections::BTreeSet;

use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested};
use contracts::{ItemId, Message};
use database::Tx;
use inbox::{Consumer, HandlerError, Incoming};

use crate::domain::{Input, ReservationLine};
use crate::store::{items, reservations};
use crate::transitions;

/// The consumer `inventory`, with a handler for each event type.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("inventory")
        .locking(lock)
        .on(async |tx, m: &Message<OrderPlaced>| {
            let lines = ReservationLine::from_order(m.tenant(), &m.lines)?;
            transitions::apply(tx, m.tenant(), m.order, Input::OrderPlaced(lines)).await
        })
        .on(async |tx, m: &Message<OrderConfirmed>| {
            transitions::apply(tx, m.tenant(), m.order, Input::OrderConfirmed).await
        })
        .on(async |tx, m: &Message<OrderCancelled>| {
            transitions::apply(tx, m.tenant(), m.order, Input::OrderCancelled).await
        })
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
