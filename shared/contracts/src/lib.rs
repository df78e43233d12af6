#![doc = include_str!("../README.md")]

pub mod events;
mod ids;
mod money;
mod payment_ids;
mod payment_method;
mod sku;
pub mod streams;

pub use ids::{ItemId, OrderId};
pub use money::{Currency, Money};
pub use payment_ids::{PaymentId, RefundId};
pub use payment_method::PaymentMethod;
pub use sku::Sku;
