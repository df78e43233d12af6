//! All events, one file for each publishing service.

mod inventory;
mod orders;
mod payments;

pub use inventory::{ItemChanged, StockRejected, StockReleased, StockReserved, StockShipped};
pub use orders::{CancelReason, OrderCancelled, OrderConfirmed, OrderLine, OrderPlaced, PaymentRequested};
pub use payments::{
    PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefundFailed, PaymentRefunded,
};
