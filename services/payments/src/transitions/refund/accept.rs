//! Accepts a refund: reserves the amount, and inserts the refund's row, its processor call with a key of its own, and its audit fact.

use audit::Fact;
use contracts::{Money, PaymentId, RefundId};
use database::{Tx, UnitOfWork};
use edge::{CommandError, Problem};
use envelope::{Caller, OperationId, TenantId};
use serde_json::json;

use crate::domain::payment::State;
use crate::domain::{CallKind, ProcessorReference, refund};
use crate::metrics::count_refund;
use crate::processor::CallPolicy;
use crate::store::calls::{self, NewCall};
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds::{self, NewRefund, RefundRow};
use crate::transitions::TransitionError;

/// A client's request for a refund.
#[derive(Debug)]
pub(crate) struct RequestedRefund<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) operation: OperationId,
    /// The id of the refund, which is the same when the client repeats its request.
    pub(crate) id: RefundId,
    pub(crate) payment: PaymentId,
    /// `None`: everything that is left.
    pub(crate) amount: Option<Money>,
    /// In the client's words.
    pub(crate) reason: &'a str,
}

/// Why a payment is refunded.
#[derive(Debug, Clone, Copy)]
pub(in crate::transitions) enum RefundCause<'a> {
    /// The order was cancelled: the automatic refund.
    OrderCancelled,
    /// A client's command.
    Requested(&'a RequestedRefund<'a>),
    /// This refund has failed, and is made again.
    Failed(&'a RefundRow),
}

/// Accepts a client's refund, if [`Refundable::request`](crate::domain::refund::Refundable::request) permits it.
///
/// The row lock makes concurrent refunds of the payment, and the cancellation of its order, wait for each other.
pub(crate) async fn accept_requested_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    requested: &RequestedRefund<'_>,
) -> Result<(), CommandError> {
    let payment = payments::lock_of_tenant(tx, &requested.caller.tenant, requested.payment).await?;
    let payment = payment.ok_or_else(|| CommandError::Rejected(Problem::not_found("payment")))?;
    let made = refunds::ids(tx, payment.id()).await?;
    let refundable = payment.refundable()?;
    let (amount, charge) = refundable.request(&made, requested.id, requested.amount)?;
    let payment = payments::change(tx, payment.id(), |row| row.refund_reserved += amount).await?;
    accept_refund(tx, policy, &payment, charge, amount, RefundCause::Requested(requested)).await?;
    Ok(())
}

/// Accepts the refund that follows a failed one, with the same amount. The payment is locked, and its `refund_reserved`
/// contains the amount already.
pub(super) async fn follow_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    failed: &RefundRow,
) -> Result<RefundId, TransitionError> {
    let State::Captured(charge) = payment.state()? else {
        let (refund, payment) = (failed.id(), payment.id());
        return Err(TransitionError::Refused(format!(
            "payment {payment} of refund {refund} is not captured"
        )));
    };
    Ok(accept_refund(tx, policy, payment, &charge, failed.amount, RefundCause::Failed(failed)).await?)
}

/// Accepts a refund of `amount` minor units of this charge. The payment is locked, and its `refund_reserved` contains the amount
/// already.
pub(in crate::transitions) async fn accept_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    charge: &ProcessorReference,
    amount: i64,
    cause: RefundCause<'_>,
) -> database::Result<RefundId> {
    let tenant = payment.tenant()?;
    let new = new_refund(&tenant, payment.id(), amount, cause);
    refunds::insert(tx, &new).await?;
    count_refund(tx, refund::Status::Pending);
    let id = new.id;
    let (key, caller) = match cause {
        RefundCause::OrderCancelled => (new.cause.to_owned(), Caller::system(tenant.clone())),
        // The key of a failed refund would repeat the refusal.
        RefundCause::Failed(_) => (id.to_string(), Caller::system(tenant.clone())),
        RefundCause::Requested(requested) => (id.to_string(), requested.caller.clone()),
    };
    let call = NewCall {
        id: id.uuid(),
        tenant: &tenant,
        kind: CallKind::Refund,
        payment: payment.id(),
        provider_key: format!("idem-{}-refund-{key}", payment.id()),
        request: policy.bodies.refund(id, &charge.id, amount),
    };
    calls::add(tx, call).await?;
    // A refund without a command is its own operation.
    let operation = new.operation.unwrap_or_else(|| id.uuid().into());
    let details = json!({
        "payment": payment.id(),
        "order": payment.order(),
        "amount": payment.in_its_currency(amount)?,
        "cause": new.cause,
        "follows": new.follows.map(RefundRow::id),
    });
    audit::record(tx, Fact::new(&caller, operation, "payment.refund", "refund", id).with(details));
    tx.after_commit(|| {
        crashpoint::reach!("refund.attempt_committed");
    });
    Ok(id)
}

/// The row. Its id is computed, so that the processor recognises a refund that a restored database has lost.
fn new_refund<'a>(
    tenant: &'a TenantId,
    payment: PaymentId,
    amount: i64,
    cause: RefundCause<'a>,
) -> NewRefund<'a> {
    let automatic = NewRefund {
        id: RefundId::automatic_of(payment),
        tenant,
        payment,
        cause: "order_cancelled",
        operation: None,
        reason: None,
        amount,
        follows: None,
    };
    match cause {
        RefundCause::OrderCancelled => automatic,
        RefundCause::Requested(&RequestedRefund { id, operation, reason, .. }) => NewRefund {
            id,
            cause: "requested",
            operation: Some(operation),
            reason: Some(reason),
            ..automatic
        },
        RefundCause::Failed(failed) => NewRefund {
            id: RefundId::following(failed.id()),
            cause: &failed.cause,
            reason: failed.reason.as_deref(),
            follows: Some(failed),
            ..automatic
        },
    }
}
