#![doc = include_str!("../README.md")]

pub mod admin;
mod brokers;
mod client;
mod client_log;
mod error;
mod health;
mod places;
mod publisher;
mod received;
mod subscription;
pub mod topics;

pub use brokers::Brokers;
pub use error::{Error, PublishError};
pub use health::health;
pub use publisher::{Ack, Acks, NotAcknowledged, Placed, Publisher, PublisherSettings, Record};
pub use received::Received;
pub use subscription::{Batch, Subscription, SubscriptionSettings};
