//! The JSON objects of Stripe's API. Members without a value here are null, as Stripe has them.

use serde_json::{Value, json};

use crate::operations::cards::Decline;
use crate::protocol::VERSION;
use crate::store::balance::BalanceTransaction;
use crate::store::charges::Charge;
use crate::store::events::Event;
use crate::store::intents::Intent;
use crate::store::refunds::Refund;

pub(crate) fn payment_intent(intent: &Intent) -> Value {
    let capturable = if intent.status == "requires_capture" { intent.amount } else { 0 };
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
        "description": null,
        "last_payment_error": last_payment_error(intent),
        "latest_charge": intent.latest_charge,
        "livemode": false,
        "metadata": intent.metadata,
        "next_action": null,
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
    let decline = Decline::stored(intent.decline_code.as_deref()?);
    Some(json!({
        "type": "card_error",
        "code": decline.code(),
        "decline_code": decline.decline_code(),
        "message": decline.message(),
        "charge": intent.latest_charge,
    }))
}

/// The payment intent with the charge and the balance transaction in the place of their ids, as
/// `expand[]=latest_charge.balance_transaction` asks for them.
pub(crate) fn expanded_payment_intent(
    intent: &Intent,
    latest_charge: Option<&Charge>,
    movement: Option<&BalanceTransaction>,
) -> Value {
    let mut object = payment_intent(intent);
    if let Some(latest) = latest_charge {
        object["latest_charge"] = charge(latest);
        if let Some(movement) = movement {
            object["latest_charge"]["balance_transaction"] = balance_transaction(movement);
        }
    }
    object
}

pub(crate) fn charge(charge: &Charge) -> Value {
    let decline = charge.decline_code.as_deref().map(Decline::stored);
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
        "failure_code": decline.map(Decline::code),
        "failure_message": decline.map(Decline::message),
        "livemode": false,
        "metadata": charge.metadata,
        "outcome": {
            "network_status": if decline.is_some() { "declined_by_network" } else { "approved_by_network" },
            "reason": decline.map(Decline::decline_code),
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
    // Only a failed refund has these members.
    if let Some(reason) = &refund.failure_reason {
        object["failure_reason"] = json!(reason);
        object["failure_balance_transaction"] = json!(refund.failure_balance_transaction);
    }
    object
}

pub(crate) fn balance_transaction(movement: &BalanceTransaction) -> Value {
    let fees = if movement.fee == 0 {
        json!([])
    } else {
        json!([{
            "amount": movement.fee,
            "application": null,
            "currency": movement.currency,
            "description": "Stripe processing fees",
            "type": "stripe_fee",
        }])
    };
    json!({
        "id": movement.id,
        "object": "balance_transaction",
        "amount": movement.amount,
        "available_on": movement.created,
        "created": movement.created,
        "currency": movement.currency,
        "description": null,
        "exchange_rate": null,
        "fee": movement.fee,
        "fee_details": fees,
        "net": movement.net,
        "reporting_category": movement.kind,
        "source": movement.source,
        "status": "available",
        "type": movement.kind,
    })
}

pub(crate) fn event(event: &Event) -> Value {
    json!({
        "id": event.id,
        "object": "event",
        "api_version": VERSION,
        "created": event.created,
        "data": { "object": event.object },
        "livemode": false,
        "pending_webhooks": 0,
        "request": { "id": event.request, "idempotency_key": event.idempotency_key },
        "type": event.kind,
    })
}
