//! Makes a failed refund again, as an operator says: by a new request, or by a refund that was made by hand.
//!
//! Both insert a refund that follows the failed one. A failed refund never changes.

use audit::{Fact, Operator};
use contracts::RefundId;
use database::Tx;
use serde_json::json;

use super::accept::follow_refund;
use crate::domain::review::{Resolution, Subject};
use crate::domain::{AttemptOutcome, ProcessorReference};
use crate::processor::CallPolicy;
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds::{self, RefundRow};
use crate::store::reviews::{self, ReviewRow};
use crate::transitions::TransitionError;
use crate::transitions::resolution::{Applied, apply_outcome};

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
        return Err(TransitionError::Refused("the review is not about a refund".to_owned()));
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

/// Reserves the amount of a failed refund again, if [`Refundable::make_again`](crate::domain::refund::Refundable::make_again) permits
/// it. Returns the payment with it. The payment is locked.
async fn reserve_again(
    tx: &mut Tx,
    payment: &PaymentRow,
    failed: &RefundRow,
) -> Result<PaymentRow, TransitionError> {
    let follower = match refunds::find_follower(tx, failed.id()).await? {
        Some(next) => Some((next.id(), next.state()?)),
        None => None,
    };
    let follower = follower.as_ref().map(|(id, state)| (*id, state));
    let paid_back = reviews::is_paid_back(tx, failed.id()).await?;
    let permitted = payment.refundable()?.make_again(&failed.state()?, failed.amount, follower, paid_back);
    permitted.map_err(TransitionError::Refused)?;
    Ok(payments::change(tx, payment.id(), |row| row.refund_reserved += failed.amount).await?)
}
