//! A `payment_intent`.

use serde_json::{Value, json};

use crate::operations::cards::Decline;
use crate::store::intents::Intent;

pub(crate) fn payment_intent(intent: &Intent) -> Value {
    let capturable = if intent.status == "requires_capture" { intent.amount } else { 0 };
    let next_action = (intent.status == "requires_action").then(
        || json!({ "type": "use_stripe_sdk", "use_stripe_sdk": { "type": "three_d_secure_redirect" } }),
    );
    json!({
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        "amount_capturable": capturable,
        "amount_details": { "tip": {} },
        "amount_received": intent.amount_received,
        "application": null,
        "application_fee_amount": null,
        "automatic_payment_methods": null,
        "canceled_at": intent.canceled_at,
        "cancellation_reason": intent.cancellation_reason,
        "capture_method": intent.capture_method,
        "client_secret": null,
        "confirmation_method": "automatic",
        "created": intent.created,
        "currency": intent.currency,
        "customer": null,
        "description": intent.description,
        "last_payment_error": last_payment_error(intent),
        "latest_charge": intent.latest_charge,
        "livemode": false,
        "metadata": intent.metadata,
        "next_action": next_action,
        "on_behalf_of": null,
        "payment_method": intent.payment_method,
        "payment_method_options": {},
        "payment_method_types": ["card"],
        "processing": null,
        "receipt_email": null,
        "review": null,
        "setup_future_usage": null,
        "shipping": null,
        "statement_descriptor": null,
        "status": intent.status,
        "transfer_data": null,
        "transfer_group": null,
    })
}

fn last_payment_error(intent: &Intent) -> Option<Value> {
    let decline = Decline::stored(intent.error_code.as_deref()?, intent.decline_code.as_deref());
    Some(json!({
        "type": "card_error",
        "code": decline.code,
        "decline_code": decline.decline_code,
        "message": decline.message(),
        "charge": intent.latest_charge,
    }))
}
