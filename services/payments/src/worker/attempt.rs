//! One attempt at the processor, or one lookup, and its result.

use std::fmt;
use std::time::Duration;

use contracts::PaymentId;
use uuid::Uuid;

use crate::domain::{AttemptOutcome, CallConditions, CallInput, LookupResult};
use crate::store::calls::Observed;

/// Identifies one attempt or lookup.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) payment: PaymentId,
    pub(super) call: Uuid,
    /// The fencing token.
    pub(super) number: i32,
}

/// The result of one attempt or lookup.
#[derive(Debug, Clone)]
pub(super) enum AttemptResult {
    /// The outcome of a request.
    Responded(AttemptOutcome),
    /// The result of a lookup.
    LookedUp(LookupResult),
}

impl AttemptResult {
    pub(super) fn observed(&self) -> Observed<'_> {
        match self {
            Self::Responded(outcome) => Observed { text: outcome.to_string(), object: outcome.object() },
            Self::LookedUp(result) => Observed { text: result.to_string(), object: result.object() },
        }
    }

    pub(super) fn input(&self, superseded: bool, conditions: CallConditions) -> CallInput {
        match self.clone() {
            Self::Responded(outcome) => CallInput::AttemptEnded { outcome, superseded },
            Self::LookedUp(result) => CallInput::LookedUp { result, superseded, conditions },
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Responded(outcome) => outcome.retry_after(),
            Self::LookedUp(result) => result.retry_after(),
        }
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Responded(outcome) => outcome.fmt(f),
            Self::LookedUp(result) => result.fmt(f),
        }
    }
}

/// An attempt or lookup that has come back.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) attempt: Attempt,
    pub(super) result: AttemptResult,
}
