#![doc = include_str!("../README.md")]

mod envelope;
pub mod events;
mod ids;
mod money;
mod names;
mod parked;
mod payment_method;
mod time;
mod topics;

pub use envelope::{Envelope, EnvelopeError, Event, Message, Stream, header};
pub use ids::{EventId, ItemId, OperationId, OrderId, PaymentId, RefundId};
pub use money::{Currency, Money};
pub use names::{Caller, ClientId, InvalidName, Sku, TenantId};
pub use parked::MessageParked;
pub use payment_method::{InvalidPaymentMethod, PaymentMethod, has_card_number};
pub use time::Timestamp;
pub use topics::Topics;
