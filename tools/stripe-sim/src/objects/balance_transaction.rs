//! A `balance_transaction`: what a charge or a refund did to the account's balance, and what it cost.

use serde_json::{Value, json};

use crate::store::balance::Movement;

pub(crate) fn balance_transaction(movement: &Movement) -> Value {
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
