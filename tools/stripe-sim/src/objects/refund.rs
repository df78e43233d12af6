//! A `refund`.

use serde_json::{Value, json};

use crate::store::refunds::Refund;

pub(crate) fn refund(refund: &Refund) -> Value {
    let mut object = json!({
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "balance_transaction": refund.balance_transaction,
        "charge": refund.charge,
        "created": refund.created,
        "currency": refund.currency,
        "destination_details": { "card": { "reference_status": "pending", "type": "refund" }, "type": "card" },
        "metadata": refund.metadata,
        "payment_intent": refund.payment_intent,
        "reason": refund.reason,
        "receipt_number": null,
        "source_transfer_reversal": null,
        "status": refund.status,
        "transfer_reversal": null,
    });
    // Members that only a failed refund has.
    if let Some(reason) = &refund.failure_reason {
        object["failure_reason"] = json!(reason);
        object["failure_balance_transaction"] = json!(refund.failure_balance_transaction);
    }
    object
}
