//! Orders and goods.

use contracts::Money;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Answer, Api, Request, commanding};
use crate::part::{Instance, Part};
use crate::trouble::Trouble;

/// An order, as much of it as the demo looks at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: Uuid,
    pub(crate) status: String,
    pub(crate) cancellation: Option<Cancellation>,
    pub(crate) total: Money,
    pub(crate) payment_id: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Cancellation {
    pub(crate) reason: String,
}

impl Order {
    /// The status, with the reason if it was cancelled.
    pub(crate) fn end(&self) -> String {
        match &self.cancellation {
            Some(cancellation) => format!("{}/{}", self.status, cancellation.reason),
            None => self.status.clone(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "awaiting_payment")
    }
}

/// An item's stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Stock {
    pub(crate) on_hand: i64,
    pub(crate) reserved: i64,
}

/// What one order shall be.
pub(crate) struct CommandRequest<'a> {
    pub(crate) lines: &'a [(&'a str, i64)],
    pub(crate) card: &'a str,
    pub(crate) reference: &'a str,
}

impl CommandRequest<'_> {
    /// The body; the same bytes for each retry.
    pub(crate) fn body(&self) -> String {
        let lines: Vec<Value> =
            self.lines.iter().map(|(sku, quantity)| json!({"sku": sku, "quantity": quantity})).collect();
        json!({"lines": lines, "payment_method": self.card, "reference": self.reference}).to_string()
    }
}

impl Api<'_> {
    /// Places an order at any instance; the caller judges the answer, or that there is none.
    pub(crate) async fn try_place(&self, key: Option<Uuid>, body: &str) -> reqwest::Result<Answer> {
        self.send(&placing(key, body)).await
    }

    /// Places an order at this instance.
    pub(crate) async fn try_place_at(
        &self,
        instance: Instance,
        key: Uuid,
        body: &str,
    ) -> reqwest::Result<Answer> {
        self.send_to(instance, &placing(Some(key), body)).await
    }

    pub(crate) async fn place(&self, key: Uuid, body: &str) -> Result<Answer, Trouble> {
        self.ask(&placing(Some(key), body)).await
    }

    pub(crate) async fn place_at(
        &self,
        instance: Instance,
        key: Uuid,
        body: &str,
    ) -> Result<Answer, Trouble> {
        let answer = self.try_place_at(instance, key, body).await;
        answer
            .map_err(|source| Trouble::NoAnswer { request: format!("POST /v1/orders of {instance}"), source })
    }

    pub(crate) async fn cancel(&self, order: Uuid, reason: &str) -> Result<Answer, Trouble> {
        let path = format!("/v1/orders/{order}/cancel");
        let body = json!({"reason": reason}).to_string();
        self.ask(&commanding(Part::Orders, &path, Some(Uuid::new_v4()), &body)).await
    }

    pub(crate) async fn order(&self, id: Uuid) -> Result<Order, Trouble> {
        self.get(Part::Orders, &format!("/v1/orders/{id}")).await?.read(200)
    }

    pub(crate) async fn put_item(&self, sku: &str, name: &str, price: Money) -> Result<Answer, Trouble> {
        let path = format!("/v1/items/{sku}");
        let body = json!({"name": name, "unit_price": price}).to_string();
        self.ask(&Request { method: Method::PUT, ..commanding(Part::Inventory, &path, None, &body) }).await
    }

    pub(crate) async fn adjust(&self, sku: &str, delta: i64) -> Result<Stock, Trouble> {
        let path = format!("/v1/items/{sku}/adjustments");
        let body = json!({"delta": delta, "reason": "delivery for the demo"}).to_string();
        self.ask(&commanding(Part::Inventory, &path, Some(Uuid::new_v4()), &body)).await?.read(201)
    }

    pub(crate) async fn stock(&self, sku: &str) -> Result<Stock, Trouble> {
        self.get(Part::Inventory, &format!("/v1/items/{sku}")).await?.read(200)
    }

    /// The status of the order's reservation; `none` if it has none.
    pub(crate) async fn reservation(&self, order: Uuid) -> Result<String, Trouble> {
        #[derive(Deserialize)]
        struct Reservation {
            status: String,
        }
        let answer = self.get(Part::Inventory, &format!("/v1/reservations/{order}")).await?;
        if answer.status == 404 {
            return Ok("none".to_owned());
        }
        Ok(answer.read::<Reservation>(200)?.status)
    }
}

fn placing(key: Option<Uuid>, body: &str) -> Request<'_> {
    commanding(Part::Orders, "/v1/orders", key, body)
}
