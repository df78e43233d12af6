//! The JSON that clients read: items, adjustments and reservations.
//!
//! The domain has no JSON, so its enum is repeated here. Because of `serde(remote)`, a list that differs from the domain's does not
//! compile.

use contracts::events::OrderLine;
use contracts::{ItemId, Money, OrderId, Sku};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::{Reservation, ReservationLine, State};
use crate::store::items::ItemRow;

/// An item and its stock.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct ItemView {
    /// The item's id in events.
    id: ItemId,
    /// The tenant's own name for the item.
    sku: Sku,
    /// The item's name for people.
    #[schema(examples("Green tea"))]
    name: String,
    /// The price of one piece.
    unit_price: Money,
    /// Raised by every change of name or price, from 1. A change of stock does not raise the version.
    version: i64,
    /// Pieces in the warehouse.
    #[schema(examples(100))]
    on_hand: i64,
    /// Pieces that are held for orders; a part of `on_hand`.
    #[schema(examples(2))]
    reserved: i64,
    /// Pieces that can still be ordered: `on_hand` minus `reserved`.
    #[schema(examples(98))]
    available: i64,
}

/// An adjustment, and the stock right after it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Adjustment)]
pub(crate) struct AdjustmentView {
    /// The adjustment's id.
    pub(crate) id: Uuid,
    /// The item.
    pub(crate) sku: Sku,
    /// Pieces added, or removed if negative.
    pub(crate) delta: i64,
    /// The reason of the request.
    pub(crate) reason: String,
    /// Pieces in the warehouse.
    pub(crate) on_hand: i64,
    /// Pieces that are held for orders; a part of `on_hand`.
    pub(crate) reserved: i64,
}

/// The status of a reservation. A closed list: a new value means a new version of the API.
#[derive(Serialize, ToSchema)]
#[schema(as = ReservationStatus)]
#[serde(remote = "State", rename_all = "snake_case")]
pub(crate) enum ReservationStatusView {
    Held,
    Shipped,
    Released,
}

/// The stock that is, or was, reserved for an order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reservation)]
pub(crate) struct ReservationView {
    /// The order.
    order_id: OrderId,
    /// Held, shipped or released.
    #[serde(with = "ReservationStatusView")]
    #[schema(value_type = ReservationStatusView)]
    status: State,
    /// The items and their quantities.
    lines: Vec<OrderLine>,
    /// Raised by every change, from 1.
    version: i64,
}

impl TryFrom<ItemRow> for ItemView {
    type Error = database::Error;

    fn try_from(row: ItemRow) -> Result<Self, Self::Error> {
        let (details, stock) = (row.details()?, row.stock());
        Ok(Self {
            id: row.id(),
            sku: row.sku()?,
            name: details.name,
            unit_price: details.unit_price,
            version: row.version,
            on_hand: stock.on_hand,
            reserved: stock.reserved,
            available: stock.available(),
        })
    }
}

impl ReservationView {
    pub(crate) fn new(order_id: OrderId, reservation: Reservation, version: i64) -> Self {
        let line = |ReservationLine { sku, quantity, .. }| OrderLine { sku, quantity };
        let lines = reservation.lines.into_iter().map(line).collect();
        Self { order_id, status: reservation.state, lines, version }
    }
}
