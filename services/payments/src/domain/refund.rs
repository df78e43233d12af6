//! The refund as a table, by the same two rules as the payment.

use super::{Deadlines, Next, Outcome, Rejection};

/// Where a refund is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is asked for; no attempt's outcome is in doubt.
    Pending,
    /// The money was given back, once.
    Succeeded {
        /// The processor's name of the refund.
        id: String,
    },
    /// The processor refused; nothing was given back.
    Failed {
        /// Why.
        code: String,
    },
    /// An attempt may have given the money back or not. Further attempts use its key.
    Unknown,
}

/// As much of a refund as a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// Where it is.
    pub state: State,
    /// An attempt is under way, or died under way.
    pub in_flight: bool,
}

/// Something that happens to a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A worker took its intent: it is due, or the lease of whoever had it has ended.
    Due(Deadlines),
    /// An attempt came to an end.
    Settled {
        /// How.
        outcome: Outcome,
        /// A newer attempt has begun in the meantime.
        superseded: bool,
    },
}

/// What becomes of it, all in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Where it is from now on.
    pub state: State,
    /// What the worker does about its intent.
    pub next: Next,
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
///
/// A refund has no deadline of its own: once owed, the money is owed.
pub fn decide(refund: &Refund, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    if let I::Settled { superseded: true, outcome } = &input
        && !outcome.is_authoritative()
    {
        return Err(Rejection::Superseded);
    }
    match (&refund.state, input) {
        (S::Pending, I::Due(_)) if !refund.in_flight => {
            Ok(Decision { state: S::Pending, next: Next::Attempt })
        }
        // The attempt before ended without a word.
        (S::Pending | S::Unknown, I::Due(Deadlines { key_forgotten, .. })) => {
            let next = if key_forgotten { Next::Rest } else { Next::Attempt };
            Ok(Decision { state: S::Unknown, next })
        }
        (S::Pending, I::Settled { .. }) if !refund.in_flight => Err(Rejection::NotInFlight),
        (S::Pending | S::Unknown, I::Settled { outcome, .. }) => Ok(settled(refund, outcome)),
        (S::Succeeded { id }, I::Settled { outcome, .. }) => {
            Err(Rejection::after_the_end(outcome.denies_success(id)))
        }
        (S::Failed { .. }, I::Settled { outcome, .. }) => {
            Err(Rejection::after_the_end(matches!(outcome, Outcome::Succeeded(_))))
        }
        (S::Succeeded { .. } | S::Failed { .. }, I::Due(_)) => Err(Rejection::Ended),
    }
}

/// The end of an attempt that is under way.
fn settled(refund: &Refund, outcome: Outcome) -> Decision {
    let in_doubt = refund.state == State::Unknown;
    match outcome {
        Outcome::Succeeded(receipt) => {
            Decision { state: State::Succeeded { id: receipt.id }, next: Next::Rest }
        }
        Outcome::Declined { code } | Outcome::Rejected { code, replayed: true } => failed(code),
        Outcome::Rejected { code, replayed: false } if !in_doubt => failed(code),
        clean if clean.leaves_nothing() && !in_doubt => {
            Decision { state: State::Pending, next: Next::Retry { in_doubt: false } }
        }
        open @ (Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. }
        | Outcome::Processing
        | Outcome::RequiresAction { .. }
        | Outcome::Unknown(_)) => {
            let next = if open.may_clear() { Next::Retry { in_doubt: true } } else { Next::Rest };
            Decision { state: State::Unknown, next }
        }
    }
}

fn failed(code: String) -> Decision {
    Decision { state: State::Failed { code }, next: Next::Rest }
}
