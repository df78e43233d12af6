//! The events that `inventory` publishes.

use envelope::{Event, Stream};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ItemId, Money, OrderId, Sku, streams};

/// All of the order's stock is held for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockReserved {
    /// The order it is held for.
    pub order: OrderId,
}

/// At least one item has too little stock. No stock is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockRejected {
    /// The order.
    pub order: OrderId,
    /// The items with too little stock.
    pub missing: Vec<Sku>,
}

/// The order's stock was shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockShipped {
    /// The order.
    pub order: OrderId,
}

/// The order's stock is available again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockReleased {
    /// The order.
    pub order: OrderId,
}

/// An item's name or price changed. The event carries the whole item, so that a reader needs the newest event only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemChanged {
    /// The item.
    pub item: ItemId,
    /// Its name within the tenant.
    pub sku: Sku,
    /// Its name for people.
    pub name: String,
    /// The price of one piece.
    pub unit_price: Money,
    /// Raised by every change of the catalogue entry. Stock movements do not change it.
    pub version: i64,
}

macro_rules! reservation_event {
    ($($event:ident = $kind:literal),* $(,)?) => {$(
        impl Event for $event {
            const TYPE: &'static str = $kind;
            const STREAM: Stream = streams::INVENTORY;
            const AGGREGATE: &'static str = "reservation";

            fn aggregate(&self) -> Uuid {
                self.order.uuid()
            }
        }
    )*};
}

reservation_event! {
    StockReserved = "inventory.StockReserved.v1",
    StockRejected = "inventory.StockRejected.v1",
    StockShipped = "inventory.StockShipped.v1",
    StockReleased = "inventory.StockReleased.v1",
}

impl Event for ItemChanged {
    const TYPE: &'static str = "inventory.ItemChanged.v1";
    const STREAM: Stream = streams::INVENTORY;
    const AGGREGATE: &'static str = "item";

    fn aggregate(&self) -> Uuid {
        self.item.uuid()
    }
}
