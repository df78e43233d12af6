//! Payments without an order, refunds, and what stands in the ledger.

use contracts::Money;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, Api, commanding};
use crate::part::Part;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::PATIENCE;

/// A payment, as much of it as the demo looks at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Payment {
    pub(crate) id: Uuid,
    pub(crate) status: String,
    pub(crate) amount: Money,
    pub(crate) refunds: Vec<Refund>,
}

/// What of it was given back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refund {
    pub(crate) status: String,
    pub(crate) amount: Money,
}

/// An account, in minor units; everything here is in EUR.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Account {
    #[serde(rename = "account")]
    pub(crate) name: String,
    pub(crate) debit: i64,
    pub(crate) credit: i64,
    /// Debit less credit.
    pub(crate) balance: i64,
}

impl Api<'_> {
    /// Takes money that no order asks for, and waits until it is taken.
    pub(crate) async fn pay(&self, amount: Money, card: &str) -> Result<Payment, Trouble> {
        let body = json!({"amount": amount, "payment_method": card, "reference": "demo"}).to_string();
        let answer =
            self.ask(&commanding(Part::Payments, "/v1/payments", Some(Uuid::new_v4()), &body)).await?;
        let answer = self.followed(answer).await?;
        serde_json::from_value(answer).map_err(|error| unreadable("POST /v1/payments", &error))
    }

    /// Asks for money back; the caller judges the answer.
    pub(crate) async fn refund(&self, payment: Uuid, key: Uuid, amount: Money) -> Result<Answer, Trouble> {
        let path = format!("/v1/payments/{payment}/refunds");
        let body = json!({"amount": amount, "reason": "changed my mind"}).to_string();
        self.ask(&commanding(Part::Payments, &path, Some(key), &body)).await
    }

    pub(crate) async fn payment(&self, id: Uuid) -> Result<Payment, Trouble> {
        self.get(Part::Payments, &format!("/v1/payments/{id}")).await?.read(200)
    }

    /// The tenant's accounts.
    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, Trouble> {
        #[derive(Deserialize)]
        struct Balances {
            data: Vec<Account>,
        }
        Ok(self.get(Part::Payments, "/v1/ledger/balances").await?.read::<Balances>(200)?.data)
    }

    /// Tells payments what the processor is said to have told; the caller judges the answer.
    pub(crate) async fn tell(&self, event: &str, signature: &str) -> Result<Answer, Trouble> {
        let request = commanding(Part::Payments, "/v1/webhooks/provider", None, event);
        self.ask(&super::Request { signature: Some(signature), ..request }).await
    }

    /// What was created; of an operation that takes its time, once it has ended.
    async fn followed(&self, answer: Answer) -> Result<Value, Trouble> {
        if answer.status != 202 {
            return answer.read(201);
        }
        let operation = answer.header("location").unwrap_or_default().to_owned();
        until("the operation has ended", PATIENCE, "./dev logs payments", async || {
            let seen: Value = self.get(Part::Payments, &operation).await?.read(200)?;
            let reply = &seen["reply"];
            Ok(if reply["status"] == 201 { Ok(reply["body"].clone()) } else { Err(seen.to_string()) })
        })
        .await
    }
}

fn unreadable(request: &str, reason: &impl ToString) -> Trouble {
    Trouble::Unreadable { request: request.to_owned(), reason: reason.to_string() }
}
