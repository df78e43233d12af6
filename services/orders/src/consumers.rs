//! Routes the events of inventory and payments to `transitions`. Decides nothing and writes nothing.

use contracts::OrderId;
use contracts::events::{
    ItemChanged, PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefundFailed, PaymentRefunded,
    StockRejected, StockReleased, StockReserved, StockShipped,
};
use database::Tx;
use envelope::Message;
use inbox::{Consumer, HandlerError, LockKeys, no_locks};

use crate::domain::{Cause, Input};
use crate::store::orders::OrderRow;
use crate::transitions;

/// The consumer `orders`: for each event type, the rows that its handler needs locked, and the handler.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("orders")
        .locking(lock_orders)
        .on::<StockReserved>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::StockReserved).await,
        )
        .on::<StockRejected>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::StockRejected).await,
        )
        .on::<StockShipped>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::StockShipped).await,
        )
        .on::<StockReleased>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::StockReleased).await,
        )
        .on::<PaymentCaptured>(|m| order(m.order), apply_capture)
        .on::<PaymentDeclined>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::PaymentDeclined).await,
        )
        .on::<PaymentCancelled>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::PaymentCancelled).await,
        )
        .on::<PaymentRefunded>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::PaymentRefunded).await,
        )
        .on::<PaymentRefundFailed>(
            |m| order(m.order),
            async |tx, m| apply(tx, m, m.order, Input::PaymentRefundFailed).await,
        )
        .newest::<ItemChanged>(no_locks, async |tx, m| {
            transitions::update_catalogue(tx, m.tenant(), &m.data).await
        })
}

/// Applies an event to its order. Ignores an event about a payment that belongs to no order.
async fn apply<E>(
    tx: &mut Tx,
    message: &Message<E>,
    order: impl Into<Option<OrderId>>,
    input: Input,
) -> Result<(), HandlerError> {
    let Some(order) = order.into() else { return Ok(()) };
    transitions::apply(tx, message.tenant(), order, input, &Cause::message(&message.envelope)).await?;
    Ok(())
}

/// Applies a capture to its order. Ignores the capture of a payment that belongs to no order.
async fn apply_capture(tx: &mut Tx, message: &Message<PaymentCaptured>) -> Result<(), HandlerError> {
    let Some(order) = message.order else { return Ok(()) };
    transitions::apply_capture(tx, order, message).await
}

/// The kind of row that the handlers need locked.
const ORDER: &str = "order";

fn order(id: impl Into<Option<OrderId>>) -> LockKeys {
    LockKeys::of(ORDER, id.into().map(OrderId::uuid))
}

/// Locks every order that the batch concerns, before the first handler runs.
async fn lock_orders(tx: &Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    Ok(tx.lock_all::<OrderRow>(keys.take(ORDER).into_iter().map(OrderId::from)).await?)
}
