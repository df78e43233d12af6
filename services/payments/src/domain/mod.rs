//! The states of payments, refunds, ledger postings and reviews, and the tables that decide their changes.
//!
//! Every function here is pure: its result depends on its arguments alone. This module reads no clock, database or
//! network, and creates no ids.

mod attempt_outcome;
mod call;
mod event_claim;
pub mod ledger;
mod lookup_result;
pub mod payment;
#[cfg(test)]
mod properties;
pub mod refund;
pub mod refund_retry;
pub mod resolution;
pub mod review;
#[cfg(test)]
mod tables;

pub use attempt_outcome::{AttemptOutcome, Fee, ProcessorReference, UnknownReason};
pub use call::{CallConditions, CallKind, CallMode, NextStep};
pub use event_claim::EventClaim;
pub use lookup_result::LookupResult;

/// Why an input changes nothing.
///
/// Responses may be late or repeated, so most rejections are normal. Only a contradiction shows a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The payment or refund has ended, and the input agrees with its end.
    Ended,
    /// The payment or refund has ended, and a response of the processor denies its end. An operator must look.
    Contradicted,
    /// No attempt is in flight that could have had this outcome.
    NotInFlight,
    /// A newer attempt has begun, and this outcome is not the end of the call. The newer attempt continues.
    Superseded,
}

/// Converts a duration of the settings. The settings limit each duration to 90 days, so it never saturates.
pub(crate) fn time_delta(length: std::time::Duration) -> chrono::TimeDelta {
    chrono::TimeDelta::from_std(length).unwrap_or(chrono::TimeDelta::MAX)
}
