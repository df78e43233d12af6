//! Accepts the next try of a refund that has failed.

use contracts::RefundId;
use database::Tx;

use super::TransitionError;
use super::accept_refund::accept_refund;
use super::refund_cause::RefundCause;
use crate::domain::payment::State;
use crate::processor::CallPolicy;
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;

/// Accepts the refund that follows a failed one, with the same amount. The payment is locked, and its `refund_reserved`
/// contains the amount already.
pub(super) async fn follow_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    failed: &RefundRow,
) -> Result<RefundId, TransitionError> {
    let State::Captured(captured) = payment.state()? else {
        let (refund, payment) = (failed.id(), payment.id());
        return Err(TransitionError::Refused(format!(
            "payment {payment} of refund {refund} is not captured"
        )));
    };
    let cause = RefundCause::Failed(failed);
    Ok(accept_refund(tx, policy, payment, &captured, failed.amount, cause).await?)
}
