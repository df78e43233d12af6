//! What a payment and a refund are and may become. Pure: no clock, no database, no network.

mod finding;
pub mod ledger;
mod outcome;
pub mod payment;
#[cfg(test)]
mod properties;
pub mod refund;
pub mod review;
#[cfg(test)]
mod tables;

pub use finding::Finding;
pub use outcome::{Doubt, Fee, Outcome, ProcessorReference};

/// What an intent asks when it comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// To do it. Asked again, the processor repeats its key's answer.
    Request,
    /// What became of it: the key has no better answer to give.
    LookUp,
}

/// What the intent's row and the database's clock say when it comes due, or when the answer is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four facts of the row that do not depend on each other")]
pub struct Deadlines {
    /// Too late for a first attempt.
    pub expired: bool,
    /// The processor may have forgotten the key: the same request could be carried out once more.
    pub key_forgotten: bool,
    /// What the intent asks.
    pub asks: Asks,
    /// Somebody has heard that there is news: one look-up is wanted, whatever the intent asks.
    pub woken: bool,
    /// This look-up is the last in a row that may find nothing; then people look.
    pub searched_enough: bool,
}

impl Deadlines {
    /// Whether the processor's books are asked now, and not the key.
    fn look_up(self) -> bool {
        self.wants_look_up() || self.key_forgotten
    }

    /// Whether somebody wants a look-up of what has ended.
    fn wants_look_up(self) -> bool {
        self.woken || self.asks == Asks::LookUp
    }

    /// What follows a look-up that proved nothing; [`Exhausted`] if people must look.
    fn look_again(self, finding: &Finding) -> Result<Next, Exhausted> {
        let in_vain = finding.is_in_vain();
        match self.asks {
            // It was looked up by the way; its key can still be asked.
            Asks::Request if !self.key_forgotten => Ok(Next::Retry { in_doubt: true }),
            Asks::Request | Asks::LookUp if in_vain && self.searched_enough => Err(Exhausted),
            Asks::Request | Asks::LookUp => Ok(Next::LookLater { in_vain }),
        }
    }
}

/// It was searched for often enough.
struct Exhausted;

/// What the worker does about an intent after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It asks the processor, now.
    Attempt,
    /// It looks up what became of it, now.
    LookUp,
    /// It asks again after a pause, under the same key.
    Retry {
        /// An attempt so far may have reached the processor.
        in_doubt: bool,
    },
    /// It looks up what became of it after a pause, and does not ask the key any more.
    LookLater {
        /// It has just looked, and found nothing.
        in_vain: bool,
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
