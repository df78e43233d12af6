//! Accepts a charge: inserts its row, its processor call with key and request body, and its audit fact. Accepts a client's
//! refund, too: locks the payment and reserves the amount.
//!
//! After the commit, the worker makes the call. A failure before the commit leaves nothing behind.

use audit::Fact;
use contracts::{Money, PaymentId, RefundId};
use database::Tx;
use edge::problem_types::KEY_EXPIRED;
use edge::{CommandError, Problem};
use envelope::{Caller, OperationId};
use serde_json::json;

use super::accept_refund::accept_refund;
use super::refund_cause::RefundCause;
use super::refundable::refundable;
use crate::domain::CallKind;
use crate::processor::CallPolicy;
use crate::store::calls::{self, NewCall};
use crate::store::payments::{self, NewPayment};
use crate::store::refunds;

/// Accepts a charge. Returns `false` if the payment, or another payment of its order, exists.
pub(crate) async fn accept_charge(
    tx: &mut Tx,
    policy: &CallPolicy,
    new: &NewPayment<'_>,
    caller: &Caller,
) -> database::Result<bool> {
    if !payments::add(tx, new).await? {
        return Ok(false);
    }
    let call = NewCall {
        id: new.id.uuid(),
        tenant: new.tenant,
        kind: CallKind::Charge,
        payment: new.id,
        // The key depends on the payment's id only. It is therefore the same for each attempt, and after a restore of
        // the database.
        provider_key: format!("idem-{}-capture", new.id),
        request: policy.bodies.charge(new.id, new.amount, new.payment_method),
    };
    calls::add(tx, call).await?;
    // A charge without a command is its own operation.
    let operation = new.operation.unwrap_or_else(|| new.id.uuid().into());
    let fact = Fact::new(caller, operation, "payment.charge", "payment", new.id);
    audit::record(tx, fact.with(json!({ "order": new.order, "amount": new.amount })));
    Ok(true)
}

/// A client's request for a refund.
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

/// Accepts a client's refund: locks the payment, decides the amount, reserves it, and inserts the refund.
///
/// The row lock makes concurrent refunds of the payment wait for each other.
pub(crate) async fn accept_requested_refund(
    tx: &mut Tx,
    policy: &CallPolicy,
    requested: &RequestedRefund<'_>,
) -> Result<(), CommandError> {
    let &RequestedRefund { caller, operation, id, payment, amount, reason } = requested;
    let payment = payments::lock_of_tenant(tx, &caller.tenant, payment).await?;
    let payment = payment.ok_or_else(|| CommandError::Rejected(Problem::not_found("payment")))?;
    let made = refunds::ids(tx, payment.id()).await?;
    // The record of the key has been deleted, and the refund has not.
    if made.contains(&id.uuid()) {
        let detail = format!("This key was used before, and made refund {id}. Read it to see the result.");
        return Err(CommandError::refused(&KEY_EXPIRED, detail));
    }
    let (captured, amount) = refundable(&payment, made.len(), amount)?;
    let payment = payments::reserve(tx, payment.id(), amount).await?;
    let cause = RefundCause::Requested { id, by: caller, operation, reason };
    accept_refund(tx, policy, &payment, &captured, amount, cause).await?;
    Ok(())
}
