//! Makes a failed refund again, as an operator says: by a new request, or by a refund that was made by hand.
//!
//! Both insert a refund that follows the failed one. A failed refund never changes.

use audit::{Fact, Operator};
use contracts::RefundId;
use database::Tx;
use serde_json::json;

use super::follow_refund::follow_refund;
use super::resolution::apply_outcome;
use super::{Applied, TransitionError};
use crate::domain::refund::State;
use crate::domain::review::{Resolution, Subject};
use crate::domain::{AttemptOutcome, ProcessorReference};
use crate::processor::CallPolicy;
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds::{self, RefundRow};
use crate::store::reviews::{self, ReviewRow};

/// Requests a failed refund again, and resolves its open review. Returns the new refund. The payment is locked.
pub(crate) async fn retry_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    failed: RefundId,
    by: &Operator,
) -> Result<RefundId, TransitionError> {
    let failed = refunds::get(tx, failed).await?;
    let payment = reserve_again(tx, payment, &failed).await?;
    let next = follow_refund(tx, policy, &payment, &failed).await?;
    let tenant = payment.tenant()?;
    let fact = Fact::by_operator(by, Some(&tenant), "refund.retry", "refund", failed.id());
    let details =
        json!({ "payment": payment.id(), "amount": payment.in_its_currency(failed.amount)?, "next": next });
    audit::record(tx, fact.with(details));
    if let Some(review) = reviews::lock_open_of_failed(tx, failed.id()).await? {
        reviews::resolve(tx, &review, Resolution::Retried, by).await?;
        let fact = Fact::by_operator(by, Some(&tenant), "review.resolve", "review", review.id);
        let resolution = Resolution::Retried.to_string();
        audit::record(
            tx,
            fact.with(json!({ "payment": payment.id(), "resolution": resolution, "next": next })),
        );
    }
    Ok(next)
}

/// Records a refund that was made by hand at the processor instead of the failed refund of this review. The caller has
/// verified the processor's object, and has locked payment and review.
pub(crate) async fn attach_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    review: &ReviewRow,
    object: &str,
) -> Result<Applied, TransitionError> {
    let Subject::Refund(_, failed) = review.subject()? else {
        return Err(refused("the review is not about a refund"));
    };
    let failed = refunds::get(tx, failed).await?;
    let payment = reserve_again(tx, payment, &failed).await?;
    let next = follow_refund(tx, policy, &payment, &failed).await?;
    let row = refunds::get(tx, next).await?;
    let reference = ProcessorReference { id: object.to_owned(), charge: None, fee: None };
    // The call of this refund ends in this transaction, so its request is never sent.
    let outcome = AttemptOutcome::Succeeded(reference);
    apply_outcome(tx, policy, &payment, Some(&row), outcome).await?;
    Ok(Applied { from: "not refunded", to: "refunded" })
}

/// Reserves the amount of a failed refund again, and returns the payment with it. The payment is locked.
async fn reserve_again(
    tx: &mut Tx,
    payment: &PaymentRow,
    failed: &RefundRow,
) -> Result<PaymentRow, TransitionError> {
    let id = failed.id();
    if let Some(next) = refunds::find_follower(tx, id).await? {
        let (next, state) = (next.id(), name(&next.state()?));
        return Err(refused(format!("refund {next} follows it already, and is {state}: act on that one")));
    }
    let state = failed.state()?;
    if !matches!(state, State::Failed { .. }) {
        let state = name(&state);
        return Err(refused(format!("it is {state}; only a failed refund can be made again")));
    }
    if reviews::is_paid_back(tx, id).await? {
        return Err(refused("a review of it was resolved as refunded, so the payer has the money back"));
    }
    let total = payment.amount()?;
    let left = total.amount - payment.refund_reserved;
    if failed.amount > left {
        let (left, amount) = (payment.in_its_currency(left)?, payment.in_its_currency(failed.amount)?);
        return Err(refused(format!(
            "of {total}, {left} can still be refunded, and the refund is of {amount}: see the other refunds of payment \
             {}; refund the rest with POST /v1/payments/{{id}}/refunds",
            payment.id()
        )));
    }
    Ok(payments::reserve(tx, payment.id(), failed.amount).await?)
}

fn refused(why: impl Into<String>) -> TransitionError {
    TransitionError::Refused(why.into())
}

fn name(state: &State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Succeeded { .. } => "succeeded",
        State::Failed { .. } => "failed",
        State::Unknown => "unknown",
    }
}
