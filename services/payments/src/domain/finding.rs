//! What a look at the processor's books has shown. Only what is found proves anything: what is missing may be on its
//! way still, or may have been overlooked.

use std::fmt;
use std::time::Duration;

use super::{Doubt, Outcome};

/// What came of looking for a payment intent or a refund at the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It is there.
    Found {
        /// The processor's name of it.
        object: String,
        /// How it stands.
        outcome: Outcome,
    },
    /// It is not there now.
    Missing,
    /// The processor did not say.
    Unanswered(Outcome),
}

impl Finding {
    /// Whether it tells how the intent ended.
    pub fn is_authoritative(&self) -> bool {
        match self {
            Self::Found { outcome, .. } => outcome.is_authoritative(),
            Self::Missing | Self::Unanswered(_) => false,
        }
    }

    /// The processor's name of what was found.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Found { object, .. } => Some(object),
            Self::Missing | Self::Unanswered(_) => None,
        }
    }

    /// How long the processor asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unanswered(outcome) => outcome.retry_after(),
            Self::Found { .. } | Self::Missing => None,
        }
    }

    /// Whether looking again in the same way will hardly show more. A failure of the processor, or of the way to it,
    /// passes; an answer that cannot be read, or is a refusal to look, does not.
    pub(super) fn is_in_vain(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Found { .. } => false,
            Self::Unanswered(outcome) => match outcome {
                Outcome::Rejected { .. } | Outcome::Unknown(Doubt::Unreadable { .. }) => true,
                Outcome::NotSent
                | Outcome::NotExecuted { .. }
                | Outcome::Unknown(_)
                | Outcome::Succeeded(_)
                | Outcome::Declined { .. }
                | Outcome::Processing { .. }
                | Outcome::RequiresAction { .. } => false,
            },
        }
    }
}

/// For people: what is kept as the latest outcome of an intent.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found { object, outcome } => write!(f, "found {object}: {outcome}"),
            Self::Missing => f.write_str("not found"),
            Self::Unanswered(outcome) => write!(f, "not looked up: {outcome}"),
        }
    }
}
