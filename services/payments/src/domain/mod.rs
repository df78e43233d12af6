//! The states of payments, refunds, ledger postings and reviews, and the tables that decide their changes.
//!
//! Every function here is pure: its result depends on its arguments alone. This module reads no clock, database or
//! network, and creates no ids.

mod attempt_outcome;
mod backoff;
mod call;
mod conditions;
mod event_claim;
pub mod ledger;
mod lookup_result;
pub mod payment;
#[cfg(test)]
mod properties;
pub mod refund;
pub mod resolution;
pub mod review;
#[cfg(test)]
mod tables;

pub use attempt_outcome::{AttemptOutcome, Fee, ProcessorReference, UnknownReason};
pub use backoff::Backoff;
pub use call::{CallDecision, CallInput, CallKind, CallState, Rejection};
pub use conditions::{CallConditions, CallMode, LookupLimits, NextStep};
pub use event_claim::EventClaim;
pub use lookup_result::LookupResult;

/// Converts a duration of the settings. The settings limit each duration to 90 days, so it never saturates.
pub(crate) fn time_delta(length: std::time::Duration) -> chrono::TimeDelta {
    chrono::TimeDelta::from_std(length).unwrap_or(chrono::TimeDelta::MAX)
}
