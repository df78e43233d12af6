//! What a payment and a refund are and may become. Pure: no clock, no database, no network.

mod outcome;
pub mod payment;
#[cfg(test)]
mod properties;
pub mod refund;

pub use outcome::{Doubt, Outcome, Receipt};

/// An intent has come due: what the database's clock says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Too late for a first attempt.
    pub expired: bool,
    /// The processor may have forgotten the key: the same request could be carried out once more.
    pub key_forgotten: bool,
}

/// What the worker does about an intent after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It asks the processor, now.
    Attempt,
    /// It asks again after a pause, under the same key.
    Retry {
        /// An attempt so far may have reached the processor.
        in_doubt: bool,
    },
    /// It has nothing more to ask: the answer is there, or only a person can find it.
    Rest,
    /// It goes on with what it is doing.
    Keep,
}

/// Why an input changes nothing. Answers may come late, and twice: only a contradiction is anybody's mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It ended before, as this says or with nothing that this denies.
    Ended,
    /// It ended before, and not as this answer of the processor says: people must look.
    Contradicted,
    /// No attempt is under way whose outcome this could be.
    NotInFlight,
    /// The attempt was replaced, and its outcome does not say how the intent ended: the newer one's will.
    Superseded,
}

impl Rejection {
    /// Of an outcome that comes after the end.
    fn after_the_end(contradicts: bool) -> Self {
        if contradicts { Self::Contradicted } else { Self::Ended }
    }
}
