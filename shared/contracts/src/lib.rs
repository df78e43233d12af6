#![doc = include_str!("../README.md")]

pub mod events;
mod ids;
mod money;
mod path_segments;
mod payment_method;
mod sku;
pub mod streams;

pub use ids::{ItemId, OrderId, PaymentId, RefundId};
pub use money::{Currency, Money};
pub use payment_method::{InvalidPaymentMethod, PaymentMethod};
pub use sku::Sku;
