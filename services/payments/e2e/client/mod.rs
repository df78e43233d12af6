//! A client of payments and of the processor's stand-in, reads of their databases, and the questions whether orders, ledger and the
//! processor's books agree.

mod books;
mod ledger;
mod processor;
mod settlement;
mod signature;

use std::time::Duration;

use audits::Database;
use contracts::Money;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::ServiceSide;
use crate::{Api, Asked, Books, Error, Part, Request, Response, Result, until};

pub use books::{AmountOwed, Charge, StoredPayment};
pub use ledger::BooksAgree;
pub use settlement::{Settlement, Sum};
pub use signature::webhook_signature;

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

impl Request {
    /// The order, to be paid with this card.
    #[must_use]
    pub fn paid_with(mut self, card: &str) -> Self {
        let body: Option<Value> = self.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
        if let Some(mut body) = body {
            body["payment_method"] = json!(card);
            self.body = Some(body.to_string());
        }
        self
    }
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

impl Part {
    /// The service of the money.
    pub const PAYMENTS: Self = Self::of("payments");
    /// The stand-in for the processor.
    pub const PROVIDER: Self = Self::of("provider");
}

/// Money in our books, and in those of the processor.
const OURS: Database = Database::of("payments");
const THEIRS: Database = Database::of("provider");

/// The side of payments.
pub(crate) struct Side;

/// Open money that no question of `audits/` reports before a minute has passed.
const OPEN: [(&str, &str); 3] = [
    (
        "payments are not settled",
        "SELECT count(*) FROM payment WHERE state IN ('requested', 'capturing', 'unknown')",
    ),
    ("refunds are not settled", "SELECT count(*) FROM refund WHERE state IN ('pending', 'unknown')"),
    ("reviews are open", "SELECT count(*) FROM review WHERE resolution IS NULL"),
];

impl ServiceSide for Side {
    async fn in_progress(books: &Books) -> Result<Vec<String>> {
        let calls = books.calls_due().await?;
        let promised = books.promised_by_processor().await?;
        let calls = (calls > 0).then(|| format!("{calls} calls to the processor"));
        Ok(calls
            .into_iter()
            .chain((promised > 0).then(|| format!("{promised} webhooks of the processor")))
            .collect())
    }

    async fn ask_joined(books: &Books) -> Vec<Asked> {
        let settlement = books.settlement().await.map(|settlement| settlement.violations());
        let agree = books.books_agree().await.map(|agree| agree.violations());
        let with_orders = vec![Database::ORDERS, OURS, THEIRS];
        vec![
            Asked::joined("orders and money agree", with_orders, "./dev explain ORDER", settlement),
            Asked::joined(
                "our ledger and the processor's balance agree",
                vec![OURS, THEIRS],
                "./dev run payments audit",
                agree,
            ),
        ]
    }

    async fn left_over(books: &Books, tenant: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let sum = books.settlement().await?.sum(tenant);
        if sum.captures != sum.confirmed || sum.taken - sum.refunded != sum.owed {
            found.push(format!("the sums do not agree: {sum:?}"));
        }
        for (what, sql) in OPEN {
            let number = books.count(Part::PAYMENTS, sql).await?;
            found.extend((number > 0).then(|| format!("{number} {what}")));
        }
        Ok(found)
    }
}
