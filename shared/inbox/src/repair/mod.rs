//! The repairs of operators, in a transaction of the caller: redrive and discard waiting messages.

mod discard;
mod discarded;
mod history;
mod redrive;
mod report;

pub use discard::discard;
pub use discarded::has_discarded;
pub use redrive::{Waiting, redrive, waiting_aggregates};
pub use report::{Discard, DiscardEffects, MessageError, MessageSummary, Redriven};
