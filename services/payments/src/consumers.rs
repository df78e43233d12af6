//! What `payments` does about what `orders` says. Each reaction is part of the transaction that enters its message in
//! the inbox.

use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced, PaymentRequested};
use contracts::{Caller, Message, Money, OrderId, TenantId};
use database::Tx;
use inbox::{Consumer, HandlerError, LockKeys, no_locks};

use crate::advance;
use crate::discarded::what_stays_open;
use crate::domain::Next;
use crate::domain::payment::{Input, Payment, State};
use crate::intake;
use crate::ledger;
use crate::processor::Forms;
use crate::store::intents;
use crate::store::payments::{self, NewPayment, PaymentRow};

/// The consumer `payments`; `forms` write what the processor is asked.
pub(crate) fn consumer(forms: Forms) -> Consumer {
    let for_cancellation = forms.clone();
    Consumer::of("payments")
        .locking(lock_payments)
        .warning(what_stays_open)
        .on::<PaymentRequested>(no_locks, async move |tx, m| charge(tx, &forms, m).await)
        .on::<OrderCancelled>(
            |m| payment_of_order(m.order),
            async move |tx, m| cancel(tx, &for_cancellation, m).await,
        )
        .on::<OrderConfirmed>(|m| payment_of_order(m.order), async move |tx, m| confirm(tx, m).await)
        .ignoring::<OrderPlaced>()
}

/// The stock is held: accept the charge. Asked twice, it is accepted once.
pub async fn charge(
    tx: &mut Tx,
    forms: &Forms,
    wanted: &Message<PaymentRequested>,
) -> Result<(), HandlerError> {
    let expires_at = database::time::from_rfc3339(wanted.expires_at.as_str())
        .ok_or_else(|| HandlerError::Refused("expires_at is not RFC 3339".to_owned()))?;
    if !(1..=Money::MAX).contains(&wanted.amount.amount) {
        return Err(HandlerError::Refused(format!("{} cannot be charged", wanted.amount)));
    }
    let new = NewPayment {
        id: wanted.payment,
        tenant: wanted.tenant(),
        order: Some(wanted.order),
        operation: None,
        reference: None,
        amount: wanted.amount,
        payment_method: &wanted.payment_method,
        expires_at,
    };
    if intake::charge(tx, forms, &new, &Caller::system(new.tenant.clone())).await? {
        return Ok(());
    }
    let known = payment_of(tx, wanted.tenant(), wanted.order).await?;
    match known {
        Some(known) if known.id() == wanted.payment && known.amount()? == wanted.amount => Ok(()),
        _ => Err(HandlerError::Refused(format!(
            "order {} and payment {} do not belong together: one of them is known with another",
            wanted.order, wanted.payment
        ))),
    }
}

/// The order will not be fulfilled: call its charge off, or see to it that its money is given back.
pub async fn cancel(
    tx: &mut Tx,
    forms: &Forms,
    cancelled: &Message<OrderCancelled>,
) -> Result<(), HandlerError> {
    let Some(payment) = payment_of(tx, cancelled.tenant(), cancelled.order).await? else {
        return Ok(()); // It was cancelled before it was to be paid.
    };
    match advance::payment(tx, forms, &payment, Input::CancelRequested).await? {
        Next::Rest => intents::rest(tx, payment.id).await?,
        Next::Keep | Next::Attempt | Next::LookUp | Next::Retry { .. } | Next::LookLater { .. } => {}
    }
    Ok(())
}

/// The order is fulfilled: what was taken for it is earned, and no longer to be given back by itself.
///
/// `orders` confirms only what was captured. A confirmation of anything else is not believed: it is parked, so that
/// people see which of the two is wrong, and nothing is earned meanwhile.
pub async fn confirm(tx: &mut Tx, confirmed: &Message<OrderConfirmed>) -> Result<(), HandlerError> {
    let order = confirmed.order;
    let payment = payment_of(tx, confirmed.tenant(), order).await?;
    let payment = payment.filter(|payment| payment.id() == confirmed.payment).ok_or_else(|| {
        HandlerError::Refused(format!(
            "order {order} is confirmed for payment {}, which is not its",
            confirmed.payment
        ))
    })?;
    if payment.confirmed {
        return Ok(());
    }
    let Payment { state, cancel_requested } = payment.payment()?;
    if !matches!(state, State::Captured(_)) || cancel_requested {
        return Err(HandlerError::Refused(format!(
            "order {order} is confirmed, but its payment {} is {state:?} (cancelled: {cancel_requested})",
            payment.id()
        )));
    }
    payments::confirm(tx, payment.id()).await?;
    ledger::order_confirmed(tx, &payment, order).await?;
    Ok(())
}

/// The payment of the tenant's order, locked.
async fn payment_of(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
) -> Result<Option<PaymentRow>, HandlerError> {
    match payments::lock_of_order(tx, order).await? {
        Some(payment) if payment.tenant()? != *tenant => {
            Err(HandlerError::Refused(format!("order {order} is not an order of {tenant}")))
        }
        payment => Ok(payment),
    }
}

/// The kind of row that the handlers need locked: the payment of an order, by the order's id.
const PAYMENT_OF_ORDER: &str = "payment of order";

fn payment_of_order(order: OrderId) -> LockKeys {
    LockKeys::of(PAYMENT_OF_ORDER, [order.uuid()])
}

/// Locks every payment that the batch may change, before the first handler runs.
async fn lock_payments(tx: &mut Tx, keys: &mut LockKeys) -> Result<(), HandlerError> {
    payments::lock_of_orders(tx, &keys.take(PAYMENT_OF_ORDER)).await?;
    Ok(())
}
