//! Accepts a charge: inserts its row, its processor call with key and request body, and its audit fact.
//!
//! After the commit, the worker makes the call. A failure before the commit leaves nothing behind.

use audit::Fact;
use database::Tx;
use envelope::Caller;
use serde_json::json;

use crate::domain::CallKind;
use crate::processor::CallPolicy;
use crate::store::calls::{self, NewCall};
use crate::store::payments::{self, NewPayment};

/// Accepts a charge. Returns `false` if the payment exists.
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
