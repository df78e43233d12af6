//! Payments without an order, refunds, and the accounts of the ledger.

use std::time::Duration;

use contracts::Money;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Api;
use crate::{Error, Part, Request, Response, Result, until};

/// The longest that an operation may take.
const LIMIT: Duration = Duration::from_secs(45);

/// The members of a payment that checks read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Payment {
    /// Its id.
    pub id: Uuid,
    /// Its status.
    pub status: String,
    /// Its amount.
    pub amount: Money,
    /// Its refunds.
    pub refunds: Vec<Refund>,
}

/// The members of a refund that checks read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refund {
    /// Its status.
    pub status: String,
    /// Its amount.
    pub amount: Money,
}

/// An account, in minor units of EUR.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its name.
    #[serde(rename(deserialize = "account"))]
    pub name: String,
    /// The sum of its debits.
    pub debit: i64,
    /// The sum of its credits.
    pub credit: i64,
    /// Debit less credit.
    pub balance: i64,
}

/// Charges a card without an order.
pub fn charge(amount: Money, card: &str) -> Request {
    Request::post(Part::PAYMENTS, "/v1/payments", &json!({"amount": amount, "payment_method": card}))
}

/// Refunds a part of a payment.
pub fn refund(payment: Uuid, amount: Money) -> Request {
    let body = json!({"amount": amount, "reason": "broken"});
    Request::post(Part::PAYMENTS, format!("/v1/payments/{payment}/refunds"), &body)
}

/// Delivers an event to payments, in place of the processor.
pub fn webhook(event: &str, signature: &str) -> Request {
    let request = Request::post(Part::PAYMENTS, "/v1/webhooks/provider", &Value::Null).without_key();
    Request { body: Some(event.to_owned()), ..request }.with_header("Stripe-Signature", signature)
}

impl Api<'_> {
    /// A payment.
    pub async fn payment(&self, id: Uuid) -> Result<Payment> {
        self.get(Part::PAYMENTS, format!("/v1/payments/{id}")).await?.read(200)
    }

    /// The accounts of the tenant.
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        #[derive(Deserialize)]
        struct Balances {
            data: Vec<Account>,
        }
        Ok(self.get(Part::PAYMENTS, "/v1/ledger/balances").await?.read::<Balances>(200)?.data)
    }

    /// Sends a charge or a refund, and waits until its operation has succeeded; returns the payment or the refund.
    pub async fn complete(&self, request: &Request) -> Result<Value> {
        let response = self.send(request).await?;
        if response.status == 202 { self.final_body(&response, 201).await } else { response.read(201) }
    }

    /// The body of the final response to a command that was answered with 202, once it has this status.
    pub async fn final_body(&self, accepted: &Response, status: u16) -> Result<Value> {
        let operation = accepted.header("location").unwrap_or_default().to_owned();
        if operation.is_empty() {
            return Err(Error::unexpected(accepted, status));
        }
        until("the operation has ended", LIMIT, "./dev logs payments", async || {
            let seen: Value = self.get(Part::PAYMENTS, &operation).await?.read(200)?;
            let reply = &seen["reply"];
            Ok(if reply["status"] == status { Ok(reply["body"].clone()) } else { Err(seen.to_string()) })
        })
        .await
    }
}
