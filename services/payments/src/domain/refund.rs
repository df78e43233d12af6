//! The refund as a table, by the same two rules as the payment. A refund that succeeded may still come back: a bank
//! returns it, and then nothing was given.

use super::review::Reason;
use super::{Deadlines, Exhausted, Finding, Next, Outcome, Rejection};
use crate::domain::Asks;

/// Where a refund is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is asked for, and no attempt's outcome is in doubt; the processor may have it under way.
    Pending,
    /// The money was given back, once.
    Succeeded {
        /// The processor's name of the refund.
        id: String,
    },
    /// Nothing was given back, or it was returned.
    Failed {
        /// Why.
        code: String,
        /// The processor's name of the refund, if there is one there.
        id: Option<String>,
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
    /// A look at the processor's books came to an end.
    LookedUp {
        /// With what.
        finding: Finding,
        /// A newer attempt has begun in the meantime.
        superseded: bool,
        /// As they are now.
        deadlines: Deadlines,
    },
}

impl Input {
    /// What was seen, for people.
    pub fn seen(&self) -> String {
        match self {
            Self::Due(_) => "it came due".to_owned(),
            Self::Settled { outcome, .. } => outcome.to_string(),
            Self::LookedUp { finding, .. } => finding.to_string(),
        }
    }
}

/// What becomes of it, all in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Where it is from now on.
    pub state: State,
    /// What the worker does about its intent.
    pub next: Next,
    /// Why people must look, if they must.
    pub review: Option<Reason>,
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
///
/// A refund has no deadline of its own: once owed, the money is owed.
pub fn decide(refund: &Refund, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    match (&refund.state, input) {
        // What a replaced worker saw counts only if it is how the intent ended.
        (S::Pending | S::Unknown, I::Settled { superseded: true, outcome })
            if !outcome.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }
        (S::Pending | S::Unknown, I::LookedUp { superseded: true, finding, .. })
            if !finding.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }

        (S::Pending, I::Due(Deadlines { asks: Asks::LookUp, .. })) => Ok(to(&S::Pending, Next::LookUp)),
        (S::Pending, I::Due(deadlines)) if !refund.in_flight => {
            Ok(to(&S::Pending, if deadlines.woken { Next::LookUp } else { Next::Attempt }))
        }
        // The attempt before ended without a word.
        (S::Pending | S::Unknown, I::Due(deadlines)) => {
            Ok(to(&S::Unknown, if deadlines.look_up() { Next::LookUp } else { Next::Attempt }))
        }
        (S::Pending, I::Settled { .. }) if !refund.in_flight => Err(Rejection::NotInFlight),
        (S::Pending | S::Unknown, I::Settled { outcome, .. }) => Ok(settled(&refund.state, outcome)),
        (S::Pending | S::Unknown, I::LookedUp { finding, deadlines, .. }) => {
            Ok(looked_up(&refund.state, finding, deadlines))
        }

        // It has ended. A look at the processor's books may still tell that a bank has returned the money.
        (S::Succeeded { .. } | S::Failed { .. }, I::Due(deadlines)) => {
            if deadlines.wants_look_up() {
                Ok(to(&refund.state, Next::LookUp))
            } else {
                Err(Rejection::Ended)
            }
        }
        (S::Succeeded { id }, I::Settled { outcome, superseded }) => {
            ended(&refund.state, &outcome, outcome.denies_success(id), superseded)
        }
        (S::Failed { id, .. }, I::Settled { outcome, superseded }) => {
            // The key repeats its first answer for ever: a success that a bank has returned since is no contradiction.
            let contradicts =
                matches!(&outcome, Outcome::Succeeded(receipt) if id.as_ref() != Some(&receipt.id));
            ended(&refund.state, &outcome, contradicts, superseded)
        }
        (S::Succeeded { id }, I::LookedUp { finding, superseded, deadlines }) => match finding {
            Finding::Missing | Finding::Unanswered(_) if superseded => Err(Rejection::Superseded),
            Finding::Found { object, outcome: Outcome::Declined { code } }
                if object == *id && !superseded =>
            {
                Ok(returned(code, object))
            }
            Finding::Found { object, outcome } => ended(&refund.state, &outcome, object != *id, superseded),
            Finding::Missing if deadlines.searched_enough => Err(Rejection::Contradicted),
            Finding::Missing => Ok(to(&refund.state, Next::LookLater { in_vain: true })),
            Finding::Unanswered(_) => Ok(to(&refund.state, Next::LookLater { in_vain: false })),
        },
        (S::Failed { .. }, I::LookedUp { finding, superseded, .. }) => match finding {
            Finding::Missing | Finding::Unanswered(_) if superseded => Err(Rejection::Superseded),
            Finding::Found { outcome, .. } => {
                // What a replaced worker read may be older than the failure.
                let contradicts = matches!(outcome, Outcome::Succeeded(_)) && !superseded;
                ended(&refund.state, &outcome, contradicts, superseded)
            }
            Finding::Missing => Err(Rejection::Ended),
            Finding::Unanswered(_) => Ok(to(&refund.state, Next::LookLater { in_vain: false })),
        },
    }
}

/// The end of an attempt that is under way.
fn settled(state: &State, outcome: Outcome) -> Decision {
    let in_doubt = *state == State::Unknown;
    match outcome {
        Outcome::Succeeded(receipt) => succeeded(receipt.id),
        Outcome::Declined { code } | Outcome::Rejected { code, replayed: true } => failed(code, None),
        Outcome::Rejected { code, replayed: false } if !in_doubt => failed(code, None),
        clean if clean.leaves_nothing() && !in_doubt => to(&State::Pending, Next::Retry { in_doubt: false }),
        open @ (Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. }
        | Outcome::Processing { .. }
        | Outcome::RequiresAction { .. }
        | Outcome::Unknown(_)) => {
            let (next, review) = open.follow_up();
            // Taken on by the processor: what it is waiting for is known.
            let state = if matches!(open, Outcome::Processing { .. }) { state } else { &State::Unknown };
            Decision { review, ..to(state, next) }
        }
    }
}

/// The end of a look-up of what has not ended here.
fn looked_up(state: &State, finding: Finding, deadlines: Deadlines) -> Decision {
    match finding {
        Finding::Found { outcome: Outcome::Succeeded(receipt), .. } => succeeded(receipt.id),
        Finding::Found { outcome: Outcome::Declined { code }, object } => failed(code, Some(object)),
        Finding::Found { outcome, .. } => {
            let (next, review) = outcome.found_open();
            Decision { review, ..to(state, next) }
        }
        Finding::Missing | Finding::Unanswered(_) => match deadlines.look_again(&finding) {
            Ok(Next::Retry { .. }) => to(state, Next::Retry { in_doubt: *state == State::Unknown }),
            Ok(next) => to(state, next),
            Err(Exhausted) => Decision { review: Some(Reason::NotFound), ..to(&State::Unknown, Next::Rest) },
        },
    }
}

/// What is heard of a refund that has ended, and changes nothing.
fn ended(
    state: &State,
    outcome: &Outcome,
    contradicts: bool,
    superseded: bool,
) -> Result<Decision, Rejection> {
    if contradicts {
        return Err(Rejection::Contradicted);
    }
    if superseded {
        return Err(Rejection::Superseded);
    }
    match outcome.found_open() {
        (next, Some(reason)) => Ok(Decision { review: Some(reason), ..to(state, next) }),
        (_, None) => Err(Rejection::Ended),
    }
}

fn to(state: &State, next: Next) -> Decision {
    Decision { state: state.clone(), next, review: None }
}

fn succeeded(id: String) -> Decision {
    to(&State::Succeeded { id }, Next::Rest)
}

fn failed(code: String, id: Option<String>) -> Decision {
    Decision { review: Some(Reason::RefundFailed), ..to(&State::Failed { code, id }, Next::Rest) }
}

fn returned(code: String, id: String) -> Decision {
    let failed = to(&State::Failed { code, id: Some(id) }, Next::Rest);
    Decision { review: Some(Reason::RefundReturned), ..failed }
}
