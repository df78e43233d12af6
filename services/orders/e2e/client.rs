//! A client of orders, and reads of its database.

use contracts::Money;
use diesel::sql_types::{BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::ServiceSide;
use crate::{Api, Books, Part, Request, Response, Result};

/// The members of an order that checks read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Order {
    /// Its id.
    pub id: Uuid,
    /// Its status.
    pub status: String,
    cancellation: Option<Cancellation>,
    /// Its price.
    pub total: Money,
    /// Its payment, once one was requested.
    pub payment_id: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Cancellation {
    reason: String,
}

impl Order {
    /// The status, and behind a slash the reason of a cancellation: `cancelled/expired`.
    pub fn outcome(&self) -> String {
        match &self.cancellation {
            Some(cancellation) => format!("{}/{}", self.status, cancellation.reason),
            None => self.status.clone(),
        }
    }

    /// Returns whether it is neither confirmed nor cancelled.
    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "awaiting_payment")
    }
}

/// A test card of Stripe that can be charged.
const CARD: &str = "pm_card_visa";

/// Places an order, to be paid with a card that can be charged. An empty reference is left out.
pub fn place_order(lines: &[(&str, i64)], reference: &str) -> Request {
    let lines: Vec<Value> =
        lines.iter().map(|(sku, quantity)| json!({"sku": sku, "quantity": quantity})).collect();
    let mut body = json!({"lines": lines, "payment_method": CARD});
    if !reference.is_empty() {
        body["reference"] = json!(reference);
    }
    Request::post(Part::ORDERS, "/v1/orders", &body)
}

/// Cancels an order.
pub fn cancel_order(order: Uuid) -> Request {
    Request::post(Part::ORDERS, format!("/v1/orders/{order}/cancel"), &json!({"reason": "changed my mind"}))
}

impl Api<'_> {
    /// An order.
    pub async fn order(&self, id: Uuid) -> Result<Order> {
        self.get(Part::ORDERS, format!("/v1/orders/{id}")).await?.read(200)
    }

    /// Cancels an order. The caller judges the response.
    pub async fn cancel(&self, order: Uuid) -> Result<Response> {
        self.send(&cancel_order(order)).await
    }
}

/// An order in the database.
#[derive(Debug, Clone, QueryableByName)]
pub struct StoredOrder {
    /// Its id.
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    /// Whose it is.
    #[diesel(sql_type = Text)]
    pub tenant_id: String,
    /// Its status.
    #[diesel(sql_type = Text)]
    pub state: String,
    /// Its total, in minor units.
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    /// The currency of the total.
    #[diesel(sql_type = Text)]
    pub currency: String,
    /// Its payment, once one was requested.
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub payment_id: Option<Uuid>,
}

impl Books {
    /// Every order.
    pub async fn orders(&self) -> Result<Vec<StoredOrder>> {
        let query = "SELECT id, tenant_id, state, amount, currency, payment_id FROM orders";
        self.load(Part::ORDERS, sql_query(query)).await
    }
}

/// The side of orders.
pub(crate) struct Side;

impl ServiceSide for Side {}
