//! Items and reservations, as clients see them.

use contracts::events::OrderLine;
use contracts::{ItemId, Money, OrderId, Sku};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{Line, Reservation, State};
use crate::store::items::ItemRow;

/// An item and its stock.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct ItemView {
    /// Its id, as events name it.
    id: ItemId,
    /// Its name within the tenant.
    sku: Sku,
    /// What people call it.
    #[schema(examples("Green tea"))]
    name: String,
    /// The price of one.
    unit_price: Money,
    /// Raised by every change of name or price, from 1. Movements of stock do not raise it.
    version: i64,
    /// In the building.
    #[schema(examples(100))]
    on_hand: i64,
    /// Held for orders; part of `on_hand`.
    #[schema(examples(2))]
    reserved: i64,
    /// What can still be ordered: `on_hand` less `reserved`.
    #[schema(examples(98))]
    available: i64,
}

impl TryFrom<ItemRow> for ItemView {
    type Error = database::Error;

    fn try_from(row: ItemRow) -> Result<Self, Self::Error> {
        let (entry, stock) = (row.entry()?, row.stock());
        Ok(Self {
            id: row.id(),
            sku: row.sku()?,
            name: entry.name,
            unit_price: entry.unit_price,
            version: row.version,
            on_hand: stock.on_hand,
            reserved: stock.reserved,
            available: stock.available(),
        })
    }
}

/// Where a reservation is. A closed list: a new value is a new version of the API.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReservationStatus {
    /// The stock is promised to the order.
    Held,
    /// The stock has left the building.
    Shipped,
    /// The stock is free again.
    Released,
}

/// What an order was promised.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reservation)]
pub(crate) struct ReservationView {
    /// The order.
    order_id: OrderId,
    /// Where it is.
    status: ReservationStatus,
    /// How many of which items.
    lines: Vec<OrderLine>,
    /// Raised by every change, from 1.
    version: i64,
}

impl ReservationView {
    pub(crate) fn new(order_id: OrderId, reservation: Reservation, version: i64) -> Self {
        let status = match reservation.state {
            State::Held => ReservationStatus::Held,
            State::Shipped => ReservationStatus::Shipped,
            State::Released => ReservationStatus::Released,
        };
        let line = |Line { sku, quantity, .. }| OrderLine { sku, quantity };
        Self { order_id, status, lines: reservation.lines.into_iter().map(line).collect(), version }
    }
}
