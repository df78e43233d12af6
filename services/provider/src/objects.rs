//! The objects as clients see them. Members that this stand-in never fills are there where the protocol says so.

use serde_json::{Value, json};

use crate::error::DECLINED;
use crate::store::intents::Intent;
use crate::store::refunds::Refund;

/// A `payment_intent`.
pub(crate) fn payment_intent(intent: &Intent) -> Value {
    let received = if intent.status == "succeeded" { intent.amount } else { 0 };
    let last_payment_error = intent.decline_code.as_ref().map(|decline_code| {
        json!({
            "type": "card_error",
            "code": "card_declined",
            "decline_code": decline_code,
            "message": DECLINED,
            "charge": intent.latest_charge,
        })
    });
    json!({
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        "amount_capturable": 0,
        "amount_received": received,
        "canceled_at": intent.canceled_at,
        "cancellation_reason": intent.cancellation_reason,
        "capture_method": "automatic",
        "client_secret": null,
        "confirmation_method": "automatic",
        "created": intent.created,
        "currency": intent.currency,
        "customer": null,
        "description": null,
        "last_payment_error": last_payment_error,
        "latest_charge": intent.latest_charge,
        "livemode": false,
        "metadata": intent.metadata,
        "next_action": null,
        "payment_method": intent.payment_method,
        "payment_method_types": ["card"],
        "status": intent.status,
    })
}

/// A `refund`.
pub(crate) fn refund(refund: &Refund) -> Value {
    json!({
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "balance_transaction": null,
        "charge": refund.charge,
        "created": refund.created,
        "currency": refund.currency,
        "metadata": refund.metadata,
        "payment_intent": refund.payment_intent,
        "reason": refund.reason,
        "receipt_number": null,
        "status": refund.status,
    })
}
