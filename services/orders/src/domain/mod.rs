//! The rules of an order: pricing, state machine, timeline.
//!
//! Pure functions and plain types: no I/O, no clock, no new ids, no JSON. `transitions` carries the decisions out.

mod order;
mod pricing;
mod timeline;

pub use order::{Announcement, Conflict, Decision, Input, State, Status, decide};
pub use pricing::{PricedLine, PricedOrder, Rejection, price};
pub use timeline::{Cause, CauseKind, EntryKind};
