//! Refunds: `accept` creates one, `move_refund` changes it by an input of its call, and `again` makes a failed one again as an operator
//! says. `domain::refund` decides.

mod accept;
mod again;

use std::mem::discriminant;

use contracts::events::{PaymentRefundFailed, PaymentRefunded};
use database::Tx;
use edge::{CommandError, Problem, Reply};
use idempotency::{Conclusion, Operation, conclude};

use self::accept::follow_refund;
pub(super) use self::accept::{RefundCause, accept_refund};
pub(crate) use self::accept::{RequestedRefund, accept_requested_refund};
pub(crate) use self::again::{attach_refund, retry_refund};
use super::payment::append;
use super::review::open_observed;
use super::{TransitionError, handle_rejection};
use crate::domain::refund::{Refund, RefusedRefund, State, decide};
use crate::domain::review::{Reason, Subject};
use crate::domain::{CallInput, NextStep};
use crate::error::REFUND_FAILED;
use crate::ledger;
use crate::metrics::count_refund;
use crate::processor::CallPolicy;
use crate::store::calls;
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds::{self, RefundRow};
use crate::views::RefundView;

/// Changes a refund by one input of its call, and its payment with it. An automatic refund whose refusal passes is followed by another
/// one. Returns its state and what the worker does with its call. The payment is locked.
#[tracing::instrument(name = "transition", skip_all, fields(refund = %row.id()))]
pub(crate) async fn move_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    row: &RefundRow,
    in_flight: bool,
    input: CallInput,
) -> Result<(State, NextStep), TransitionError> {
    let before = Refund { state: row.state()?, in_flight };
    let (subject, seen) = (Subject::Refund(payment.id(), row.id()), input.seen());
    let decision = match decide(&before, input) {
        Ok(decision) => decision,
        Err(rejection) => {
            let next = handle_rejection(tx, rejection, payment, subject, &seen).await?;
            return Ok((before.state, next));
        }
    };
    let next_try = match (&decision.state, decision.review) {
        (State::Failed { code, .. }, Some(Reason::RefundFailed)) => {
            let (is_automatic, try_number) = (row.is_automatic(), row.try_number);
            policy.retries.pause_after(RefusedRefund { is_automatic, try_number, code })
        }
        _ => None,
    };
    if decision.state != before.state {
        let updated = refunds::update(tx, row.id(), &decision.state).await?;
        let (refund, from, to) = (row.id(), &before.state, &decision.state);
        tracing::info!(payment = %payment.id(), %refund, ?from, ?to, "RefundMoved");
        if discriminant(from) != discriminant(to) {
            count_refund(tx, to.into());
        }
        ledger::refund_moved(tx, payment, row, &before.state, &decision.state)?;
        // The refund that follows needs the reserved amount, and announces how it ends.
        if next_try.is_none() {
            update_payment(tx, payment, row, &decision.state).await?;
        }
        conclude_command(tx, payment, &updated, &decision.state).await?;
    }
    if let Some(pause) = next_try {
        let next = follow_refund(tx, policy, payment, row).await?;
        calls::defer(tx, next.uuid(), pause).await?;
        tracing::warn!(payment = %payment.id(), refund = %row.id(), %next, "a refused refund is made again later");
    } else if let Some(reason) = decision.review {
        open_observed(tx, payment, subject, reason, &seen).await?;
    }
    Ok((decision.state, decision.next))
}

/// Publishes a refund that succeeded or failed, and releases the reserved amount of one that failed.
async fn update_payment(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    state: &State,
) -> Result<(), TransitionError> {
    let (refund, order, id) = (row.id(), payment.order(), payment.id());
    let (sequence, amount) = (payment.sequence + 1, payment.in_its_currency(row.amount)?);
    let released = match state {
        State::Pending | State::Unknown => return Ok(()),
        State::Succeeded { .. } => {
            append(tx, payment, sequence, &PaymentRefunded { payment: id, order, refund, amount })?;
            0
        }
        State::Failed { code, .. } => {
            let failed = PaymentRefundFailed { payment: id, order, refund, amount, code: code.clone() };
            append(tx, payment, sequence, &failed)?;
            row.amount
        }
    };
    let change = |row: &mut PaymentRow| {
        row.sequence = sequence;
        row.refund_reserved -= released;
    };
    payments::change(tx, id, change).await?;
    Ok(())
}

/// Concludes the command of a refund that has changed to `to`. `refund` is the updated row.
async fn conclude_command(
    tx: &mut Tx,
    payment: &PaymentRow,
    refund: &RefundRow,
    to: &State,
) -> Result<(), TransitionError> {
    let Some(operation) = refund.operation() else { return Ok(()) };
    let conclusion = match to {
        State::Pending => return Ok(()),
        State::Unknown => Conclusion::Unknown,
        State::Succeeded { .. } => {
            let location = format!("/v1/refunds/{}", refund.id());
            Conclusion::Succeeded(
                Reply::created(location, &RefundView::new(payment, refund)?).stored_response()?,
            )
        }
        // If the refund succeeded before and a bank returned it, the command is concluded already and keeps its reply.
        State::Failed { code, .. } => {
            let detail = format!("The processor refused the refund ({code}). Nothing was refunded.");
            Conclusion::Failed(Problem::new(&REFUND_FAILED, detail).stored_response())
        }
    };
    conclude(tx, operation, conclusion).await?;
    Ok(())
}

/// Does nothing when a client repeats a refund, because the worker retries refunds by itself.
pub(crate) async fn keep_waiting(_: &mut Tx, _: &Operation) -> Result<(), CommandError> {
    Ok(())
}
