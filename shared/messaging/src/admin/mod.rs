//! Administration of Kafka: topics, offsets, consumer groups, whole topics, health.
//!
//! Services call it at start and for readiness; operators' commands, audits and tests call the rest. Each function opens a
//! client, asks, and closes the client. None of them joins a consumer group.
//!
//! # Errors
//! Every function returns [`Error::Configuration`] if the client refuses a property or a file of one, [`Error::Unreachable`] if no
//! broker answers within ten seconds, and [`Error::Refused`] if a broker refuses. With OAUTHBEARER, the client
//! refuses to create topics and to read their properties. A function names what else it returns.
//!
//! [`Error::Configuration`]: crate::Error::Configuration
//! [`Error::Unreachable`]: crate::Error::Unreachable
//! [`Error::Refused`]: crate::Error::Refused

mod client;
mod groups;
mod metadata;
mod offsets;
mod partition;
mod properties;
mod read_topic;
mod readable;
pub mod topics;

pub(crate) use client::{blocking, metadata_client};
pub use groups::{GroupOffsets, groups, members, set_group_offsets};
pub use metadata::health;
pub use offsets::{committed_offsets, end_offsets, offset_ranges, offsets_since};
pub use partition::partition_of;
pub use properties::topic_properties;
pub use read_topic::{read_all, read_since};
pub use readable::next_readable;
