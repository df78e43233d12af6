#![doc = include_str!("../README.md")]

pub mod admin;
mod broker_loss;
mod brokers;
mod client_log;
mod error;
mod publisher;
mod received;
mod subscription;

pub use admin::health;
pub use admin::topics;
pub use brokers::{Brokers, FileWatch, SettingFault};
pub use error::{Error, PublishError, Refusal};
pub use publisher::{DeliveryReport, DeliveryReports, NotAcknowledged, Publisher, Record, RecordMetadata};
pub use received::ReceivedMessage;
pub use subscription::{Batch, PartitionLags, Subscription, SubscriptionSettings, UnreadableRecord};
