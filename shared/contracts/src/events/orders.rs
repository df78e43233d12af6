//! The events that `orders` publishes. The other services read no other stream.

use envelope::{Event, Stream, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Money, OrderId, PaymentId, Sku, streams};

/// So many of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OrderLine {
    /// Which item.
    pub sku: Sku,
    /// How many, 1 to 10,000.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000, examples(2)))]
    pub quantity: i64,
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Not enough stock.
    Rejected,
    /// The card was declined.
    Declined,
    /// It was not paid in time.
    Expired,
    /// The customer asked for it.
    Customer,
}

/// An order was accepted. `inventory` reserves its stock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderPlaced {
    /// The order.
    pub order: OrderId,
    /// The ordered items; each SKU once.
    pub lines: Vec<OrderLine>,
    /// The price of the whole order.
    pub total: Money,
}

/// The stock is held. `payments` charges the customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRequested {
    /// The order to be paid.
    pub order: OrderId,
    /// The payment's id. `orders` makes it, so that a repeated request names the same payment.
    pub payment: PaymentId,
    /// The amount to charge.
    pub amount: Money,
    /// The processor's token of the customer's card.
    pub payment_method: String,
    /// The first attempt must start before this time.
    pub expires_at: Timestamp,
}

/// The order is paid. `inventory` ships its stock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderConfirmed {
    /// The order.
    pub order: OrderId,
    /// The payment that was captured.
    pub payment: PaymentId,
}

/// The order will not be fulfilled. `inventory` releases its stock, and `payments` refunds a captured payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderCancelled {
    /// The order.
    pub order: OrderId,
    /// The reason.
    pub reason: CancelReason,
}

macro_rules! order_event {
    ($($event:ident = $kind:literal),* $(,)?) => {$(
        impl Event for $event {
            const TYPE: &'static str = $kind;
            const STREAM: Stream = streams::ORDERS;
            const AGGREGATE: &'static str = "order";

            fn aggregate(&self) -> Uuid {
                self.order.uuid()
            }
        }
    )*};
}

order_event! {
    OrderPlaced = "orders.OrderPlaced.v1",
    PaymentRequested = "orders.PaymentRequested.v1",
    OrderConfirmed = "orders.OrderConfirmed.v1",
    OrderCancelled = "orders.OrderCancelled.v1",
}
