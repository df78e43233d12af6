//! What `orders` does about what the other two say.

use contracts::events::{
    ItemChanged, PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefunded, StockRejected,
    StockReleased, StockReserved, StockShipped,
};
use contracts::{Envelope, ItemId, Message, OrderId};
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
        .on(
            |m: &Message<StockReserved>| order(Some(m.order)),
            async |tx, m: &Message<StockReserved>| {
                advance(tx, &m.envelope, m.order, Input::StockReserved).await
            },
        )
        .on(
            |m: &Message<StockRejected>| order(Some(m.order)),
            async |tx, m: &Message<StockRejected>| {
                advance(tx, &m.envelope, m.order, Input::StockRejected).await
            },
        )
        .on(
            |m: &Message<StockShipped>| order(Some(m.order)),
            async |tx, m: &Message<StockShipped>| {
                advance(tx, &m.envelope, m.order, Input::StockShipped).await
            },
        )
        .on(
            |m: &Message<StockReleased>| order(Some(m.order)),
            async |tx, m: &Message<StockReleased>| {
                advance(tx, &m.envelope, m.order, Input::StockReleased).await
            },
        )
        .on(
            |m: &Message<PaymentCaptured>| order(m.order),
            async |tx, m: &Message<PaymentCaptured>| {
                of_order(tx, &m.envelope, m.order, Input::Captured(m.payment)).await
            },
        )
        .on(
            |m: &Message<PaymentDeclined>| order(m.order),
            async |tx, m: &Message<PaymentDeclined>| {
                of_order(tx, &m.envelope, m.order, Input::Declined).await
            },
        )
        .on(
            |m: &Message<PaymentCancelled>| order(m.order),
            async |tx, m: &Message<PaymentCancelled>| {
                of_order(tx, &m.envelope, m.order, Input::PaymentCancelled).await
            },
        )
        .on(
            |m: &Message<PaymentRefunded>| order(m.order),
            async |tx, m: &Message<PaymentRefunded>| {
                of_order(tx, &m.envelope, m.order, Input::Refunded).await
            },
        )
        .newest(no_locks, async |tx, m: &Message<ItemChanged>| catalogue_entry(tx, m).await)
}

async fn advance(tx: &mut Tx, from: &Envelope, order: OrderId, input: Input) -> Result<(), HandlerError> {
    saga::advance(tx, &from.tenant, order, input, &Cause::message(from)).await?;
    Ok(())
}

/// A payment that belongs to no order is none of our business.
async fn of_order(
    tx: &mut Tx,
    from: &Envelope,
    order: Option<OrderId>,
    input: Input,
) -> Result<(), HandlerError> {
    match order {
        Some(order) => advance(tx, from, order, input).await,
        None => Ok(()),
    }
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

fn order(id: Option<OrderId>) -> LockKeys {
    LockKeys::of(ORDER, id.map(OrderId::uuid))
}

/// Locks every order that the batch concerns, before the first handler runs.
async fn lock_orders(tx: &mut Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    orders::lock_all(tx, &keys.take(ORDER)).await?;
    Ok(())
}
