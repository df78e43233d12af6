//! Orders, items and stock.

use contracts::Money;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Api;
use crate::{Part, Request, Response, Result};

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

/// The stock of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Stock {
    /// Pieces in the store, reserved ones included.
    pub on_hand: i64,
    /// Pieces held for open orders.
    pub reserved: i64,
}

/// Places an order. An empty reference is left out.
pub fn place_order(lines: &[(&str, i64)], card: &str, reference: &str) -> Request {
    let lines: Vec<Value> =
        lines.iter().map(|(sku, quantity)| json!({"sku": sku, "quantity": quantity})).collect();
    let mut body = json!({"lines": lines, "payment_method": card});
    if !reference.is_empty() {
        body["reference"] = json!(reference);
    }
    Request::post(Part::ORDERS, "/v1/orders", &body)
}

/// Cancels an order.
pub fn cancel_order(order: Uuid) -> Request {
    Request::post(Part::ORDERS, format!("/v1/orders/{order}/cancel"), &json!({"reason": "changed my mind"}))
}

/// Puts an item on sale, or changes its price.
pub fn put_item(sku: &str, name: &str, price: Money) -> Request {
    let body = json!({"name": name, "unit_price": price});
    let post = Request::post(Part::INVENTORY, format!("/v1/items/{sku}"), &body);
    Request { method: Method::PUT, ..post.without_key() }
}

/// Delivers pieces of an item.
pub fn adjust_stock(sku: &str, delta: i64) -> Request {
    let body = json!({"delta": delta, "reason": "delivery"});
    Request::post(Part::INVENTORY, format!("/v1/items/{sku}/adjustments"), &body)
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

    /// Delivers pieces of an item; returns its stock.
    pub async fn deliver(&self, sku: &str, pieces: i64) -> Result<Stock> {
        self.send(&adjust_stock(sku, pieces)).await?.read(201)
    }

    /// The stock of an item.
    pub async fn stock(&self, sku: &str) -> Result<Stock> {
        self.get(Part::INVENTORY, format!("/v1/items/{sku}")).await?.read(200)
    }

    /// The status of the reservation of an order; `none` without one.
    pub async fn reservation(&self, order: Uuid) -> Result<String> {
        #[derive(Deserialize)]
        struct Reservation {
            status: String,
        }
        let response = self.get(Part::INVENTORY, format!("/v1/reservations/{order}")).await?;
        if response.status == 404 {
            return Ok("none".to_owned());
        }
        Ok(response.read::<Reservation>(200)?.status)
    }
}
