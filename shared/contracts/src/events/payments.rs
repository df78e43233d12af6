//! The events that `payments` publishes. `order` is null for a payment without an order; `orders` skips it.

use envelope::{Event, Stream};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Money, OrderId, PaymentId, RefundId, streams};

/// The processor captured the payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentCaptured {
    /// The payment.
    pub payment: PaymentId,
    /// The order it pays, if any.
    pub order: Option<OrderId>,
    /// The captured amount.
    pub amount: Money,
}

/// The processor declined the card. No amount was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentDeclined {
    /// The payment.
    pub payment: PaymentId,
    /// The order it was for, if any.
    pub order: Option<OrderId>,
    /// The processor's reason, for instance `generic_decline`.
    pub code: String,
}

/// The payment was cancelled before its first attempt. No amount was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentCancelled {
    /// The payment.
    pub payment: PaymentId,
    /// The order it was for, if any.
    pub order: Option<OrderId>,
}

/// A captured amount was refunded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRefunded {
    /// The payment.
    pub payment: PaymentId,
    /// The order it paid, if any.
    pub order: Option<OrderId>,
    /// The refund.
    pub refund: RefundId,
    /// The refunded amount.
    pub amount: Money,
}

/// A refund has failed: the processor refused it, or a bank returned it after [`PaymentRefunded`]. The amount is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRefundFailed {
    /// The payment.
    pub payment: PaymentId,
    /// The order it paid, if any.
    pub order: Option<OrderId>,
    /// The refund.
    pub refund: RefundId,
    /// The amount that was not refunded.
    pub amount: Money,
    /// The processor's reason, for instance `lost_or_stolen_card`.
    pub code: String,
}

macro_rules! payment_event {
    ($($event:ident = $kind:literal),* $(,)?) => {$(
        impl Event for $event {
            const TYPE: &'static str = $kind;
            const STREAM: Stream = streams::PAYMENTS;
            const AGGREGATE: &'static str = "payment";

            fn aggregate(&self) -> Uuid {
                self.payment.uuid()
            }

            fn key(&self) -> Uuid {
                self.order.map_or(self.payment.uuid(), OrderId::uuid)
            }
        }
    )*};
}

payment_event! {
    PaymentCaptured = "payments.PaymentCaptured.v1",
    PaymentDeclined = "payments.PaymentDeclined.v1",
    PaymentCancelled = "payments.PaymentCancelled.v1",
    PaymentRefunded = "payments.PaymentRefunded.v1",
    PaymentRefundFailed = "payments.PaymentRefundFailed.v1",
}
