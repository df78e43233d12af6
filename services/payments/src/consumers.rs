//! The handlers of `payments` for the events of `orders`.
//!
//! Each handler runs in the transaction that enters its message in the inbox. It reads the message and calls a
//! transition.

use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested};
use contracts::{Money, OrderId, PaymentId};
use database::Tx;
use envelope::{Caller, Message};
use inbox::{Consumer, HandlerError, LockKeys};

use crate::processor::CallPolicy;
use crate::store::payments::{NewPayment, PaymentRow};
use crate::transitions::{accept_charge, cancel_payment, confirm_order, lock_payment_of_order};

/// Builds the consumer `payments`. `policy` says how their charges and refunds are requested.
pub(crate) fn consumer(policy: CallPolicy) -> Consumer {
    let for_cancellation = policy.clone();
    Consumer::of("payments")
        .locking(lock_payments)
        .on::<PaymentRequested>(|m| payment_of(m.order), async move |tx, m| charge(tx, &policy, m).await)
        .on::<OrderCancelled>(
            |m| payment_of(m.order),
            async move |tx, m| cancel(tx, &for_cancellation, m).await,
        )
        .on::<OrderConfirmed>(|m| payment_of(m.order), async move |tx, m| confirm(tx, m).await)
        .ignoring::<OrderPlaced>()
}

/// Accepts the charge of an order. A second request for the same payment changes nothing.
pub async fn charge(
    tx: &mut Tx,
    policy: &CallPolicy,
    requested: &Message<PaymentRequested>,
) -> Result<(), HandlerError> {
    let expires_at = database::time::from_rfc3339(requested.expires_at.as_str())
        .ok_or_else(|| HandlerError::Refused("expires_at is not RFC 3339".to_owned()))?;
    if !(1..=Money::MAX).contains(&requested.amount.amount) {
        return Err(HandlerError::Refused(format!("{} cannot be charged", requested.amount)));
    }
    if requested.payment != PaymentId::of(requested.order) {
        let (order, payment) = (requested.order, requested.payment);
        return Err(HandlerError::Refused(format!("payment {payment} is not the one of order {order}")));
    }
    let new = NewPayment {
        id: requested.payment,
        tenant: requested.tenant(),
        order: Some(requested.order),
        operation: None,
        reference: None,
        amount: requested.amount,
        payment_method: &requested.payment_method,
        expires_at,
    };
    if accept_charge(tx, policy, &new, &Caller::system(new.tenant.clone())).await? {
        return Ok(());
    }
    let known = lock_payment_of_order(tx, requested.tenant(), requested.order).await?;
    match known {
        Some(known) if known.amount()? == requested.amount => Ok(()),
        _ => Err(HandlerError::Refused(format!(
            "the payment of order {} is stored with another amount than {}",
            requested.order, requested.amount
        ))),
    }
}

/// Cancels the payment of a cancelled order, or refunds it. An order that was cancelled before its charge has none.
pub async fn cancel(
    tx: &mut Tx,
    policy: &CallPolicy,
    cancelled: &Message<OrderCancelled>,
) -> Result<(), HandlerError> {
    match lock_payment_of_order(tx, cancelled.tenant(), cancelled.order).await? {
        Some(payment) => Ok(cancel_payment(tx, policy, &payment).await.map(drop)?),
        None => Ok(()),
    }
}

/// Posts the revenue of a confirmed order. A confirmation that does not fit the payment is refused and parked.
pub async fn confirm(tx: &mut Tx, confirmed: &Message<OrderConfirmed>) -> Result<(), HandlerError> {
    let order = confirmed.order;
    let payment = lock_payment_of_order(tx, confirmed.tenant(), order).await?;
    let payment = payment.filter(|payment| payment.id() == confirmed.payment).ok_or_else(|| {
        let id = confirmed.payment;
        HandlerError::Refused(format!(
            "order {order} is confirmed with payment {id}, which is not its payment"
        ))
    })?;
    Ok(confirm_order(tx, &payment, order).await?)
}

/// The kind of row that the handlers need locked.
const PAYMENT: &str = "payment";

fn payment_of(order: OrderId) -> LockKeys {
    LockKeys::of(PAYMENT, [PaymentId::of(order).uuid()])
}

/// Locks every payment that the batch may change, before the first handler runs.
async fn lock_payments(tx: &Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    Ok(tx.lock_all::<PaymentRow>(keys.take(PAYMENT).into_iter().map(PaymentId::from)).await?)
}
