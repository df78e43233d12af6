#![doc = include_str!("../README.md")]

mod envelope;
mod event;
mod ids;
mod names;
mod parked;
mod path_segment;
mod time;
mod topics;

pub use envelope::{Envelope, EnvelopeError, header, is_traceparent};
pub use event::{Event, Message, Stream};
pub use ids::{EventId, OperationId};
pub use names::{Caller, ClientId, InvalidName, TenantId, is_name, is_name_with};
pub use parked::MessageParked;
pub use path_segment::PathSegment;
pub use time::Timestamp;
pub use topics::Topics;
