//! Changes a payment.

use std::mem::discriminant;

use contracts::OrderId;
use contracts::events::{PaymentCancelled, PaymentCaptured, PaymentDeclined};
use database::Tx;
use envelope::{Event, EventId, TenantId};

use super::conclude::{self, DeclinedBy};
use super::refund::{RefundCause, accept_refund};
use super::review::open_observed;
use super::{TransitionError, handle_rejection};
use crate::domain::payment::{Announcement, Decision, Payment, State, cancel, decide, relies_on_our_rows};
use crate::domain::review::Subject;
use crate::domain::{CallInput, NextStep};
use crate::ledger;
use crate::metrics::count_payment;
use crate::processor::CallPolicy;
use crate::store::calls;
use crate::store::payments::{self, PaymentRow};

/// Changes a payment by one input of its call, and returns what the worker does with the call. The row is locked.
#[tracing::instrument(name = "transition", skip_all, fields(payment = %row.id()))]
pub(crate) async fn move_payment(
    tx: &mut Tx,
    policy: &CallPolicy,
    row: &PaymentRow,
    input: CallInput,
) -> Result<(State, NextStep), TransitionError> {
    let before = read_payment(tx, row, relies_on_our_rows(&input)).await?;
    let (seen, declined_by) = (input.seen(), DeclinedBy::of(&input));
    match decide(&before, input) {
        Ok(decision) => apply(tx, policy, row, &before, decision, (&seen, declined_by)).await,
        Err(rejection) => {
            let next = handle_rejection(tx, rejection, row, Subject::Payment(row.id()), &seen).await?;
            Ok((before.state, next))
        }
    }
}

/// Cancels a payment because its order is cancelled, or because no worker can take its call. [`payment::cancel`] decides: before the
/// first attempt the payment ends, after a capture it is refunded. The row is locked.
///
/// [`payment::cancel`]: crate::domain::payment::cancel
#[tracing::instrument(name = "transition", skip_all, fields(payment = %row.id()))]
pub(crate) async fn cancel_payment(
    tx: &mut Tx,
    policy: &CallPolicy,
    row: &PaymentRow,
) -> Result<NextStep, TransitionError> {
    let before = read_payment(tx, row, true).await?;
    let observed = ("the order was cancelled", DeclinedBy::Card);
    let (_, next) = apply(tx, policy, row, &before, cancel(&before), observed).await?;
    if next == NextStep::Stop {
        calls::stop(tx, row.id).await?;
    }
    Ok(next)
}

/// Writes a decision: row, ledger, reply to the client, event, automatic refund and review.
async fn apply(
    tx: &mut Tx,
    policy: &CallPolicy,
    row: &PaymentRow,
    before: &Payment,
    decision: Decision,
    (seen, declined_by): (&str, DeclinedBy),
) -> Result<(State, NextStep), TransitionError> {
    let Decision { payment: after, next, announcement, refund, review } = decision;
    let to_refund = if refund { row.amount()?.amount - row.refund_reserved } else { 0 };
    let sequence = row.sequence + i64::from(announcement.is_some());
    if after != *before {
        let change = |row: &mut PaymentRow| {
            row.set(&after);
            row.refund_reserved += to_refund;
            row.sequence = sequence;
        };
        let updated = payments::change(tx, row.id(), change).await?;
        log_change(row, before, &after);
        if discriminant(&before.state) != discriminant(&after.state) {
            count_payment(tx, &after.state);
        }
        ledger::payment_moved(tx, row, &before.state, &after.state)?;
        conclude::payment_moved(tx, &updated, &before.state, &after.state, declined_by).await?;
    }
    if (&before.state, &after.state) == (&State::Requested, &State::Unknown) {
        calls::may_be_sent(tx, row.id, row.requested_at()?).await?;
    }
    if let Some(announcement) = announcement {
        announce(tx, row, sequence, announcement)?;
    }
    if let State::Captured(reference) = &after.state
        && to_refund > 0
    {
        let cause = RefundCause::OrderCancelled;
        let refund = accept_refund(tx, policy, row, reference, to_refund, cause).await?;
        tracing::info!(payment = %row.id(), %refund, amount = to_refund, "a cancelled order's payment is refunded");
    }
    if let Some(reason) = review {
        open_observed(tx, row, Subject::Payment(row.id()), reason, seen).await?;
    }
    Ok((after.state, next))
}

/// Reads the payment for a decision. It asks whether the database was restored only if the decision depends on it.
async fn read_payment(
    tx: &mut Tx,
    row: &PaymentRow,
    relies_on_our_rows: bool,
) -> Result<Payment, TransitionError> {
    let payment = row.payment()?;
    let is_new = matches!(payment.state, State::Requested | State::Capturing);
    let is_restored =
        is_new && relies_on_our_rows && outbox::is_restored_since(tx, row.requested_at()?).await?;
    Ok(Payment { is_restored, ..payment })
}

/// Locks the payment of the tenant's order, if it has one. Refuses a payment of another tenant.
pub(crate) async fn lock_payment_of_order(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
) -> Result<Option<PaymentRow>, TransitionError> {
    match payments::lock_of_order(tx, order).await? {
        Some(payment) if payment.tenant()? != *tenant => {
            Err(TransitionError::Refused(format!("order {order} is not an order of {tenant}")))
        }
        payment => Ok(payment),
    }
}

/// Marks the order of a captured payment as confirmed and posts its revenue. A repetition changes nothing. The row is
/// locked.
///
/// It refuses the confirmation of a payment that is not captured, because `orders` confirms captured payments only. The
/// message is parked then, so that an operator finds out which service is wrong.
pub(crate) async fn confirm_order(
    tx: &mut Tx,
    row: &PaymentRow,
    order: OrderId,
) -> Result<(), TransitionError> {
    if row.confirmed {
        return Ok(());
    }
    let Payment { state, cancel_requested, .. } = row.payment()?;
    if !matches!(state, State::Captured(_)) || cancel_requested {
        let id = row.id();
        return Err(TransitionError::Refused(format!(
            "order {order} is confirmed, but its payment {id} is {state:?} (cancelled: {cancel_requested})"
        )));
    }
    payments::change(tx, row.id(), |row| row.confirmed = true).await?;
    ledger::order_confirmed(tx, row, order)?;
    Ok(())
}

fn announce(
    tx: &mut Tx,
    row: &PaymentRow,
    sequence: i64,
    announcement: Announcement,
) -> Result<EventId, TransitionError> {
    let (payment, order) = (row.id(), row.order());
    match announcement {
        Announcement::Captured => {
            let amount = row.amount()?;
            append(tx, row, sequence, &PaymentCaptured { payment, order, amount })
        }
        Announcement::Declined { code } => {
            append(tx, row, sequence, &PaymentDeclined { payment, order, code })
        }
        Announcement::Cancelled => append(tx, row, sequence, &PaymentCancelled { payment, order }),
    }
}

/// Appends an event of this payment to the outbox.
pub(super) fn append<E: Event>(
    tx: &mut Tx,
    row: &PaymentRow,
    sequence: i64,
    event: &E,
) -> Result<EventId, TransitionError> {
    Ok(outbox::append(tx, &row.tenant()?, sequence, event)?)
}

fn log_change(row: &PaymentRow, from: &Payment, to: &Payment) {
    let cancel_requested = to.cancel_requested;
    tracing::info!(payment = %row.id(), from = ?from.state, to = ?to.state, cancel_requested, "PaymentMoved");
}
