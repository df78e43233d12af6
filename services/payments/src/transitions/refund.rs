//! Changes a refund, and its payment with it.

use contracts::events::{PaymentRefundFailed, PaymentRefunded};
use database::Tx;

use super::payment::append;
use super::review::open_observed;
use super::{TransitionError, conclude, handle_rejection};
use crate::domain::NextStep;
use crate::domain::refund::{Input, Refund, State, decide};
use crate::domain::review::Subject;
use crate::ledger;
use crate::store::payments::{self, Change, PaymentRow};
use crate::store::refunds::{self, RefundRow};

/// Changes a refund by one input, and returns its state and what the worker does with its call. The payment is locked.
pub(crate) async fn move_refund(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    in_flight: bool,
    input: Input,
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
    if decision.state != before.state {
        let updated = refunds::update(tx, row.id(), &decision.state).await?;
        let (refund, from, to) = (row.id(), &before.state, &decision.state);
        tracing::info!(payment = %payment.id(), %refund, ?from, ?to, "RefundMoved");
        ledger::refund_moved(tx, payment, row, &before.state, &decision.state).await?;
        update_payment(tx, payment, row, &decision.state).await?;
        conclude::refund_moved(tx, payment, &updated, &decision.state).await?;
    }
    if let Some(reason) = decision.review {
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
    let (sequence, unchanged) = (payment.sequence + 1, payment.payment()?);
    let (refund, order, id) = (row.id(), payment.order(), payment.id());
    let amount = payment.in_its_currency(row.amount)?;
    let refund_reserved = match state {
        State::Pending | State::Unknown => return Ok(()),
        State::Succeeded { .. } => {
            append(tx, payment, sequence, &PaymentRefunded { payment: id, order, refund, amount })?;
            payment.refund_reserved
        }
        State::Failed { code, .. } => {
            let failed = PaymentRefundFailed { payment: id, order, refund, amount, code: code.clone() };
            append(tx, payment, sequence, &failed)?;
            payment.refund_reserved - row.amount
        }
    };
    payments::update(tx, id, &Change { payment: &unchanged, refund_reserved, sequence }).await?;
    Ok(())
}
