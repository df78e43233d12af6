//! The result of one lookup at the processor.
//!
//! Only an object that is found proves something. An object that is not found may still arrive, or may be missing from
//! a list that is not up to date.

use std::fmt;
use std::time::Duration;

use super::{AttemptOutcome, UnknownReason};

/// The result of looking for a `PaymentIntent` or a refund at the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupResult {
    /// The object exists.
    Found {
        /// The processor's id of the object.
        object: String,
        /// Its state, read as the outcome of an attempt.
        outcome: AttemptOutcome,
    },
    /// The object was not found.
    NotFound,
    /// The lookup itself failed, with this outcome.
    Unanswered(AttemptOutcome),
}

/// How the text of an unanswered lookup begins.
const UNANSWERED: &str = "not looked up";

impl LookupResult {
    /// Returns whether a stored text is that of a lookup without an answer.
    pub fn is_unanswered(text: &str) -> bool {
        text.starts_with(UNANSWERED)
    }

    /// Returns the processor's id of the object that was found.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Found { object, .. } => Some(object),
            Self::NotFound | Self::Unanswered(_) => None,
        }
    }

    /// Returns how long the processor asks the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unanswered(outcome) => outcome.retry_after(),
            Self::Found { .. } | Self::NotFound => None,
        }
    }

    /// Returns whether this lookup counts as one that found nothing.
    ///
    /// A failure of the processor or of the network does not count, because it is transient. An unreadable response or
    /// a refusal counts, because another lookup would probably return the same.
    pub(super) fn found_nothing(&self) -> bool {
        match self {
            Self::NotFound => true,
            Self::Found { .. } => false,
            Self::Unanswered(outcome) => match outcome {
                AttemptOutcome::Rejected { .. }
                | AttemptOutcome::Unknown(UnknownReason::Unreadable { .. }) => true,
                AttemptOutcome::NotSent
                | AttemptOutcome::NotExecuted { .. }
                | AttemptOutcome::Unknown(_)
                | AttemptOutcome::Succeeded(_)
                | AttemptOutcome::Declined { .. }
                | AttemptOutcome::Processing { .. }
                | AttemptOutcome::RequiresAction { .. } => false,
            },
        }
    }
}

/// The text that is stored as the latest outcome of the call, for operators and for [`LookupResult::is_unanswered`].
impl fmt::Display for LookupResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found { object, outcome } => write!(f, "found {object}: {outcome}"),
            Self::NotFound => f.write_str("not found"),
            Self::Unanswered(outcome) => write!(f, "{UNANSWERED}: {outcome}"),
        }
    }
}
