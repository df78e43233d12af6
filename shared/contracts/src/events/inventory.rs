//! What `inventory` says.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Event, ItemId, Money, OrderId, Sku, Stream};

/// All of the order's stock is held for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockReserved {
    /// The order it is held for.
    pub order: OrderId,
}

/// There is not enough of something; nothing is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockRejected {
    /// The order.
    pub order: OrderId,
    /// What there is too little of.
    pub missing: Vec<Sku>,
}

/// The order's stock has left the building.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockShipped {
    /// The order.
    pub order: OrderId,
}

/// The order's stock is free again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockReleased {
    /// The order.
    pub order: OrderId,
}

/// An item's description or price changed. Carries the whole item: the newest says it all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemChanged {
    /// The item.
    pub item: ItemId,
    /// Its name within the tenant.
    pub sku: Sku,
    /// What people call it.
    pub name: String,
    /// The price of one.
    pub unit_price: Money,
    /// Raised by every change of the catalogue entry; movements of stock do not raise it.
    pub version: i64,
}

macro_rules! reservation_event {
    ($($event:ident = $kind:literal),* $(,)?) => {$(
        impl Event for $event {
            const TYPE: &'static str = $kind;
            const STREAM: Stream = Stream::Inventory;
            const AGGREGATE: &'static str = "reservation";

            fn aggregate(&self) -> Uuid {
                self.order.uuid()
            }

            fn key(&self) -> Uuid {
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
    const STREAM: Stream = Stream::Inventory;
    const AGGREGATE: &'static str = "item";

    fn aggregate(&self) -> Uuid {
        self.item.uuid()
    }

    fn key(&self) -> Uuid {
        self.item.uuid()
    }
}
