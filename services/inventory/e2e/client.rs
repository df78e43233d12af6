//! A client of inventory, reads of its database, and the question whether orders and stock agree.

use std::collections::BTreeMap;

use audits::Database;
use contracts::Money;
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::ServiceSide;
use super::orders::StoredOrder;
use crate::{Api, Asked, Books, Part, Request, Result};

/// The stock of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Stock {
    /// Pieces in the store, reserved ones included.
    pub on_hand: i64,
    /// Pieces held for open orders.
    pub reserved: i64,
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

/// The stock that is reserved for an order, in the database.
#[derive(Debug, QueryableByName)]
struct StoredReservation {
    #[diesel(sql_type = SqlUuid)]
    order_id: Uuid,
    #[diesel(sql_type = Text)]
    tenant_id: String,
    #[diesel(sql_type = Text)]
    state: String,
}

impl Part {
    /// The service of the stock.
    pub const INVENTORY: Self = Self::of("inventory");
}

/// Promise 4 across two databases: a confirmed order has shipped, and a cancelled order keeps no stock. The violations, in sentences.
fn violations(orders: &[StoredOrder], reservations: Vec<StoredReservation>) -> Vec<String> {
    let reservations: BTreeMap<Uuid, StoredReservation> =
        reservations.into_iter().map(|row| (row.order_id, row)).collect();
    let violation = |order: &StoredOrder| {
        let reservation = reservations.get(&order.id);
        let stock = reservation.map_or("none", |row| row.state.as_str());
        let agrees = match order.state.as_str() {
            "confirmed" => stock == "shipped",
            "cancelled" => matches!(stock, "none" | "released"),
            // Still open: another question checks its time.
            _ => true,
        };
        let belongs = reservation.is_none_or(|row| row.tenant_id == order.tenant_id);
        (!agrees || !belongs).then(|| {
            format!(
                "order {} of {} is {}: its reservation is {stock}",
                order.id, order.tenant_id, order.state
            )
        })
    };
    orders.iter().filter_map(violation).collect()
}

/// The side of inventory.
pub(crate) struct Side;

/// Pieces that are held for open orders.
const HELD: &str = "SELECT count(*) FROM reservation WHERE state = 'held'";

impl ServiceSide for Side {
    async fn in_progress(books: &Books) -> Result<Vec<String>> {
        let held = books.count(Part::INVENTORY, HELD).await?;
        Ok((held > 0).then(|| format!("{held} reservations are held")).into_iter().collect())
    }

    async fn ask_joined(books: &Books) -> Vec<Asked> {
        let found = async {
            let query = sql_query("SELECT order_id, tenant_id, state FROM reservation");
            let reservations = books.load(Part::INVENTORY, query).await?;
            Ok(violations(&books.orders().await?, reservations))
        };
        let databases = vec![Database::ORDERS, Database::of("inventory")];
        vec![Asked::joined("orders and stock agree", databases, "./dev explain ORDER", found.await)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of violations if the order is in this state, and the reservation, of this tenant, in that one.
    fn judged(order: &str, reservation: Option<(&str, &str)>) -> usize {
        let id = Uuid::from_u128(1);
        let order = StoredOrder {
            id,
            tenant_id: "t".to_owned(),
            state: order.to_owned(),
            amount: 450,
            currency: "EUR".to_owned(),
            payment_id: None,
        };
        let reservation = reservation.map(|(tenant, state)| StoredReservation {
            order_id: id,
            tenant_id: tenant.to_owned(),
            state: state.to_owned(),
        });
        violations(&[order], reservation.into_iter().collect()).len()
    }

    #[test]
    fn every_order_whose_stock_ended_otherwise_is_a_violation() {
        for sound in [
            ("confirmed", Some(("t", "shipped"))),
            ("cancelled", Some(("t", "released"))),
            ("cancelled", None),
            ("pending", Some(("t", "held"))),
        ] {
            assert_eq!(judged(sound.0, sound.1), 0, "{sound:?}");
        }
        for wrong in [
            ("confirmed", None),
            ("confirmed", Some(("t", "held"))),
            ("confirmed", Some(("other", "shipped"))),
            ("cancelled", Some(("t", "held"))),
            ("cancelled", Some(("t", "shipped"))),
        ] {
            assert_eq!(judged(wrong.0, wrong.1), 1, "{wrong:?}");
        }
    }
}
