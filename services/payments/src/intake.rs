//! Accepting an intent: its rows, the processor's key, the exact request and the audit fact, all in the caller's
//! transaction. From its commit on, the worker cares for it.

use audit::Fact;
use contracts::{Caller, OperationId, RefundId, TenantId};
use database::{Result, Tx, UnitOfWork, WakeUp};
use serde_json::json;

use crate::domain::ProcessorReference;
use crate::processor::Forms;
use crate::store::intents::{self, Kind, NewIntent};
use crate::store::payments::{self, NewPayment, PaymentRow};
use crate::store::refunds::{self, NewRefund};

/// Rings in this process when an intent was accepted.
pub(crate) const ACCEPTED: WakeUp = WakeUp("payments.intents");

/// Why money is given back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause<'a> {
    /// Nobody asks for it: the order was cancelled.
    OrderCancelled,
    /// A client asks for it, by a command.
    Requested {
        /// Who.
        by: &'a Caller,
        /// The command.
        operation: OperationId,
        /// In the client's words.
        reason: &'a str,
    },
}

impl Cause<'_> {
    fn name(self) -> &'static str {
        match self {
            Self::OrderCancelled => "order_cancelled",
            Self::Requested { .. } => "requested",
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::OrderCancelled => None,
            Self::Requested { reason, .. } => Some(reason),
        }
    }

    fn operation(self) -> Option<OperationId> {
        match self {
            Self::OrderCancelled => None,
            Self::Requested { operation, .. } => Some(operation),
        }
    }

    /// Whom the audit fact names.
    fn caller(self, tenant: &TenantId) -> Caller {
        match self {
            Self::OrderCancelled => Caller::system(tenant.clone()),
            Self::Requested { by, .. } => by.clone(),
        }
    }
}

/// Accepts a charge that `caller` wants; `false` if this payment, or another one of its order, is there.
pub(crate) async fn charge(
    tx: &mut Tx,
    forms: &Forms,
    new: &NewPayment<'_>,
    caller: &Caller,
) -> Result<bool> {
    if !payments::insert(tx, new).await? {
        return Ok(false);
    }
    let intent = NewIntent {
        id: new.id.uuid(),
        tenant: new.tenant,
        kind: Kind::Charge,
        payment: new.id,
        // Made of the payment's id alone: the same for each attempt, and after a restore of this database.
        provider_key: format!("idem-{}-capture", new.id),
        request: forms.charge(new.id, new.amount, new.payment_method),
    };
    intents::insert(tx, intent).await?;
    let operation = new.operation.unwrap_or_else(|| new.id.uuid().into());
    let fact = Fact::new(caller, operation, "payment.charge", "payment", new.id);
    audit::record(tx, fact.with(json!({ "order": new.order, "amount": new.amount })));
    tx.wake_after_commit(ACCEPTED);
    Ok(true)
}

/// Accepts a refund of `amount` minor units of a captured payment, which is locked and has them claimed for it.
pub(crate) async fn refund(
    tx: &mut Tx,
    forms: &Forms,
    payment: &PaymentRow,
    captured: &ProcessorReference,
    amount: i64,
    cause: Cause<'_>,
) -> Result<RefundId> {
    let (id, tenant) = (RefundId::generate(), payment.tenant()?);
    let new = NewRefund {
        id,
        tenant: &tenant,
        payment: payment.id(),
        cause: cause.name(),
        operation: cause.operation(),
        reason: cause.reason(),
        amount,
    };
    refunds::insert(tx, &new).await?;
    let intent = NewIntent {
        id: id.uuid(),
        tenant: &tenant,
        kind: Kind::Refund,
        payment: payment.id(),
        provider_key: match cause {
            Cause::OrderCancelled => format!("idem-{}-refund-{}", payment.id(), cause.name()),
            Cause::Requested { .. } => format!("idem-{}-refund-{id}", payment.id()),
        },
        request: forms.refund(id, &captured.id, amount),
    };
    intents::insert(tx, intent).await?;
    let operation = cause.operation().unwrap_or_else(|| id.uuid().into());
    let fact = Fact::new(&cause.caller(&tenant), operation, "payment.refund", "refund", id);
    let details = json!({
        "payment": payment.id(),
        "order": payment.order(),
        "amount": payment.in_its_currency(amount)?,
        "cause": cause.name(),
    });
    audit::record(tx, fact.with(details));
    tx.wake_after_commit(ACCEPTED);
    tx.after_commit(|| {
        crashpoint::reach!("refund.attempt_committed");
    });
    Ok(id)
}
