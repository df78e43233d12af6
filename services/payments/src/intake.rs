//! Accepting an intent: its rows, the processor's key, the exact request and the audit fact, all in the caller's
//! transaction. From its commit on, the worker cares for it.

use audit::Fact;
use contracts::{Caller, OperationId, RefundId};
use database::{Result, Signal, Tx};
use serde_json::json;

use crate::domain::Receipt;
use crate::processor::Forms;
use crate::store::intents::{self, Kind, NewIntent};
use crate::store::payments::{self, NewPayment, PaymentRow};
use crate::store::refunds::{self, NewRefund};

/// Rings in this process when an intent was accepted.
pub(crate) const ACCEPTED: Signal = Signal("payments.intents");

/// Why money is given back without anybody asking for it.
const ORDER_CANCELLED: &str = "order_cancelled";

/// Accepts a charge; `false` if this payment, or another one of its order, is there.
pub(crate) async fn charge(tx: &mut Tx, forms: &Forms, new: &NewPayment<'_>) -> Result<bool> {
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
    let (caller, operation) = (Caller::system(new.tenant.clone()), OperationId::from(new.id.uuid()));
    let fact = Fact::new(&caller, operation, "payment.charge", "payment", new.id);
    audit::record(tx, fact.with(json!({ "order": new.order, "amount": new.amount })));
    tx.wake_after_commit(ACCEPTED);
    Ok(true)
}

/// Accepts the automatic refund of `amount` minor units of a captured payment, which is locked and has them left.
pub(crate) async fn refund(
    tx: &mut Tx,
    forms: &Forms,
    payment: &PaymentRow,
    captured: &Receipt,
    amount: i64,
) -> Result<RefundId> {
    let (id, tenant) = (RefundId::generate(), payment.tenant()?);
    let new = NewRefund { id, tenant: &tenant, payment: payment.id(), cause: ORDER_CANCELLED, amount };
    refunds::insert(tx, &new).await?;
    let intent = NewIntent {
        id: id.uuid(),
        tenant: &tenant,
        kind: Kind::Refund,
        payment: payment.id(),
        provider_key: format!("idem-{}-refund-{ORDER_CANCELLED}", payment.id()),
        request: forms.refund(id, &captured.id, amount),
    };
    intents::insert(tx, intent).await?;
    let (caller, operation) = (Caller::system(tenant.clone()), OperationId::from(id.uuid()));
    let fact = Fact::new(&caller, operation, "payment.refund", "refund", id);
    let details = json!({
        "payment": payment.id(),
        "order": payment.order(),
        "amount": payment.in_its_currency(amount)?,
        "cause": ORDER_CANCELLED,
    });
    audit::record(tx, fact.with(details));
    tx.wake_after_commit(ACCEPTED);
    Ok(id)
}
