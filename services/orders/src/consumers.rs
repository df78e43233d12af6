//! What `orders` does about what the other two say.

use contracts::events::{
    ItemChanged, PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefunded, StockRejected,
    StockReleased, StockReserved, StockShipped,
};
use contracts::{ItemId, Message, OrderId};
use database::Tx;
use inbox::{Consumer, HandlerError, LockKeys, no_locks};

use crate::discarded::what_stays_open;
use crate::domain::Input;
use crate::saga;
use crate::store::{catalogue, orders};
use crate::timeline::Cause;

/// The consumer `orders`.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("orders")
        .locking(lock_orders)
        .warning(what_stays_open)
        .on::<StockReserved>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::StockReserved).await,
        )
        .on::<StockRejected>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::StockRejected).await,
        )
        .on::<StockShipped>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::StockShipped).await,
        )
        .on::<StockReleased>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::StockReleased).await,
        )
        .on::<PaymentCaptured>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::Captured(m.payment)).await,
        )
        .on::<PaymentDeclined>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::Declined).await,
        )
        .on::<PaymentCancelled>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::PaymentCancelled).await,
        )
        .on::<PaymentRefunded>(
            |m| order(m.order),
            async |tx, m| advance(tx, m, m.order, Input::Refunded).await,
        )
        .newest::<ItemChanged>(no_locks, async |tx, m| catalogue_entry(tx, m).await)
}

/// Moves the order that the message concerns. A payment without an order concerns none.
async fn advance<E>(
    tx: &mut Tx,
    message: &Message<E>,
    order: impl Into<Option<OrderId>>,
    input: Input,
) -> Result<(), HandlerError> {
    let Some(order) = order.into() else { return Ok(()) };
    saga::advance(tx, message.tenant(), order, input, &Cause::message(&message.envelope)).await?;
    Ok(())
}

/// Takes over an item's entry. An item is its tenant's SKU and nobody else's.
async fn catalogue_entry(tx: &mut Tx, changed: &Message<ItemChanged>) -> Result<(), HandlerError> {
    let (tenant, sku) = (changed.tenant(), &changed.sku);
    if changed.item != ItemId::of(tenant, sku) {
        return Err(HandlerError::Refused(format!("item {} is not the SKU {sku} of {tenant}", changed.item)));
    }
    Ok(catalogue::put(tx, tenant, &changed.data).await?)
}

/// The kind of row that the handlers need locked.
const ORDER: &str = "order";

fn order(id: impl Into<Option<OrderId>>) -> LockKeys {
    LockKeys::of(ORDER, id.into().map(OrderId::uuid))
}

/// Locks every order that the batch concerns, before the first handler runs.
async fn lock_orders(tx: &mut Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    orders::lock_all(tx, &keys.take(ORDER)).await?;
    Ok(())
}
