//! A `charge`: one time that a card was asked.

use serde_json::{Value, json};

use crate::operations::cards::Decline;
use crate::store::charges::Charge;

pub(crate) fn charge(charge: &Charge) -> Value {
    let decline =
        charge.error_code.as_deref().map(|code| Decline::stored(code, charge.decline_code.as_deref()));
    let paid = charge.status == "succeeded";
    json!({
        "id": charge.id,
        "object": "charge",
        "amount": charge.amount,
        "amount_captured": charge.amount_captured,
        "amount_refunded": charge.amount_refunded,
        "application_fee_amount": null,
        "balance_transaction": charge.balance_transaction,
        "billing_details": { "address": null, "email": null, "name": null, "phone": null },
        "captured": charge.amount_captured > 0,
        "created": charge.created,
        "currency": charge.currency,
        "customer": null,
        "description": null,
        "disputed": false,
        "failure_balance_transaction": null,
        "failure_code": decline.map(|decline| decline.code),
        "failure_message": decline.map(Decline::message),
        "livemode": false,
        "metadata": charge.metadata,
        "outcome": {
            "network_status": if decline.is_some() { "declined_by_network" } else { "approved_by_network" },
            "reason": decline.and_then(|decline| decline.decline_code),
            "type": if decline.is_some() { "issuer_declined" } else { "authorized" },
        },
        "paid": paid,
        "payment_intent": charge.payment_intent,
        "payment_method": charge.payment_method,
        "payment_method_details": { "card": { "brand": "visa" }, "type": "card" },
        "receipt_email": null,
        "receipt_number": null,
        "receipt_url": null,
        "refunded": paid && charge.amount_captured > 0 && charge.amount_refunded == charge.amount_captured,
        "status": charge.status,
    })
}
