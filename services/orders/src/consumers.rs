//! Routes the events of inventory and payments to `transitions`. Decides nothing and writes nothing.

use contracts::OrderId;
use contracts::events::{
    ItemChanged, PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefundFailed, PaymentRefunded,
    StockRejected, StockReleased, StockReserved, StockShipped,
};
use database::Tx;
use envelope::{Event, Message};
use inbox::{Consumer, HandlerError, LockKeys, no_locks};

use crate::domain::{Cause, Input};
use crate::store::orders::OrderRow;
use crate::transitions;

/// The consumer `orders`: for each event type, the rows that its handler needs locked, and the handler.
pub(crate) fn consumer() -> Consumer {
    let consumer = Consumer::of("orders").locking(lock_orders);
    let consumer = on(consumer, |event: &StockReserved| Some(event.order), Input::StockReserved);
    let consumer = on(consumer, |event: &StockRejected| Some(event.order), Input::StockRejected);
    let consumer = on(consumer, |event: &StockShipped| Some(event.order), Input::StockShipped);
    let consumer = on(consumer, |event: &StockReleased| Some(event.order), Input::StockReleased);
    let consumer = on(consumer, |event: &PaymentDeclined| event.order, Input::PaymentDeclined);
    let consumer = on(consumer, |event: &PaymentCancelled| event.order, Input::PaymentCancelled);
    let consumer = on(consumer, |event: &PaymentRefunded| event.order, Input::PaymentRefunded);
    let consumer = on(consumer, |event: &PaymentRefundFailed| event.order, Input::PaymentRefundFailed);
    consumer
        .on::<PaymentCaptured>(|m| order(m.order), apply_capture)
        .newest::<ItemChanged>(no_locks, async |tx, m| {
            transitions::update_catalogue(tx, m.tenant(), &m.data).await
        })
}

/// Applies each event of this type to its order. Ignores an event about a payment that belongs to no order.
fn on<E: Event>(consumer: Consumer, order_of: fn(&E) -> Option<OrderId>, input: Input) -> Consumer {
    consumer.on::<E>(
        move |m| order(order_of(&m.data)),
        async move |tx, m| {
            let Some(order) = order_of(&m.data) else { return Ok(()) };
            transitions::apply(tx, m.tenant(), order, input, &Cause::message(&m.envelope)).await?;
            Ok(())
        },
    )
}

/// Applies a capture to its order. Ignores the capture of a payment that belongs to no order.
async fn apply_capture(tx: &mut Tx, message: &Message<PaymentCaptured>) -> Result<(), HandlerError> {
    let Some(order) = message.order else { return Ok(()) };
    transitions::apply_capture(tx, order, message).await
}

/// The kind of row that the handlers need locked.
const ORDER: &str = "order";

fn order(id: Option<OrderId>) -> LockKeys {
    LockKeys::of(ORDER, id.map(OrderId::uuid))
}

/// Locks every order that the batch concerns, before the first handler runs.
async fn lock_orders(tx: &Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    Ok(tx.lock_all::<OrderRow>(keys.take(ORDER).into_iter().map(OrderId::from)).await?)
}
