//! Accepts a refund: inserts its row, its processor call with a key of its own, and its audit fact.

use audit::Fact;
use contracts::RefundId;
use database::{Tx, UnitOfWork};
use serde_json::json;

use super::refund_cause::RefundCause;
use crate::domain::{CallKind, ProcessorReference, refund};
use crate::metrics::count_refund;
use crate::processor::CallPolicy;
use crate::store::calls::{self, NewCall};
use crate::store::payments::PaymentRow;
use crate::store::refunds::{self, NewRefund, RefundRow};

/// Accepts a refund of `amount` minor units of a captured payment. The payment is locked, and its `refund_reserved`
/// contains the amount already.
pub(super) async fn accept_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    captured: &ProcessorReference,
    amount: i64,
    cause: RefundCause<'_>,
) -> database::Result<RefundId> {
    let tenant = payment.tenant()?;
    let id = cause.id(payment.id());
    let new = NewRefund {
        id,
        tenant: &tenant,
        payment: payment.id(),
        cause: cause.name(),
        operation: cause.operation(),
        reason: cause.reason(),
        amount,
        follows: cause.follows(),
    };
    refunds::insert(tx, &new).await?;
    count_refund(tx, &refund::State::Pending);
    let call = NewCall {
        id: id.uuid(),
        tenant: &tenant,
        kind: CallKind::Refund,
        payment: payment.id(),
        provider_key: match cause {
            RefundCause::OrderCancelled => format!("idem-{}-refund-{}", payment.id(), cause.name()),
            // The key of a failed refund would repeat the refusal.
            RefundCause::Requested { .. } | RefundCause::Failed(_) => {
                format!("idem-{}-refund-{id}", payment.id())
            }
        },
        request: policy.bodies.refund(id, &captured.id, amount),
    };
    calls::add(tx, call).await?;
    // A refund without a command is its own operation.
    let operation = cause.operation().unwrap_or_else(|| id.uuid().into());
    let fact = Fact::new(&cause.caller(&tenant), operation, "payment.refund", "refund", id);
    let details = json!({
        "payment": payment.id(),
        "order": payment.order(),
        "amount": payment.in_its_currency(amount)?,
        "cause": cause.name(),
        "follows": cause.follows().map(RefundRow::id),
    });
    audit::record(tx, fact.with(details));
    tx.after_commit(|| {
        crashpoint::reach!("refund.attempt_committed");
    });
    Ok(id)
}
