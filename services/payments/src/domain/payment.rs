//! The payment as a table: what each state does about each input. Services, model and checkers share it.
//!
//! Two rules stand behind it. Nothing that may have reached the processor is ever given up or called off. And once
//! one attempt's outcome is unknown, no refusal of a later one proves anything: only an answer of the key itself does,
//! or what is found in the processor's books.

use super::review::Reason;
use super::{Deadlines, Exhausted, Finding, Next, Outcome, ProcessorReference, Rejection};

/// Where a payment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing has reached the processor, provably.
    Requested,
    /// The first attempt that may reach the processor is under way.
    Capturing,
    /// The money was taken, once.
    Captured(ProcessorReference),
    /// The processor refused; nothing was taken.
    Declined {
        /// Why.
        code: String,
    },
    /// An attempt may have taken the money or not. Further attempts use its key.
    Unknown,
    /// Called off before anything reached the processor.
    Cancelled,
}

/// As much of a payment as a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Where it is.
    pub state: State,
    /// Its order was cancelled.
    pub cancel_requested: bool,
}

/// Something that happens to a payment.
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
    /// Its order was cancelled.
    CancelRequested,
}

impl Input {
    /// What was seen, for people.
    pub fn seen(&self) -> String {
        match self {
            Self::Due(_) => "it came due".to_owned(),
            Self::Settled { outcome, .. } => outcome.to_string(),
            Self::LookedUp { finding, .. } => finding.to_string(),
            Self::CancelRequested => "its order was cancelled".to_owned(),
        }
    }
}

/// What becomes of it, all in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// As it is from now on.
    pub payment: Payment,
    /// What the worker does about its intent.
    pub next: Next,
    /// What others are told.
    pub tell: Option<Tell>,
    /// Whether all of it is to be given back.
    pub refund: bool,
    /// Why people must look, if they must.
    pub review: Option<Reason>,
}

/// What others are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tell {
    /// The money was taken.
    Captured,
    /// It was refused.
    Declined {
        /// Why.
        code: String,
    },
    /// It was called off.
    Cancelled,
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
pub fn decide(payment: &Payment, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    match (&payment.state, input) {
        // What a replaced worker saw counts only if it is how the intent ended.
        (S::Requested | S::Capturing | S::Unknown, I::Settled { superseded: true, outcome })
            if !outcome.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }
        (S::Requested | S::Capturing | S::Unknown, I::LookedUp { superseded: true, finding, .. })
            if !finding.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }

        // The last moment to call it off without a trace.
        (S::Requested, I::CancelRequested | I::Due(Deadlines { expired: true, .. })) => {
            Ok(cancelled(payment))
        }
        (S::Requested, I::Due(Deadlines { expired: false, .. })) => {
            Ok(to(payment, S::Capturing, Next::Attempt))
        }
        (S::Requested, I::Settled { .. } | I::LookedUp { .. }) => Err(Rejection::NotInFlight),

        // The attempt before ended without a word. What may have begun is carried through, expired or not.
        (S::Capturing | S::Unknown, I::Due(deadlines)) => {
            Ok(to(payment, S::Unknown, if deadlines.look_up() { Next::LookUp } else { Next::Attempt }))
        }
        (S::Capturing | S::Unknown, I::Settled { outcome, .. }) => Ok(settled(payment, outcome)),
        (S::Capturing | S::Unknown, I::LookedUp { finding, deadlines, .. }) => {
            Ok(looked_up(payment, finding, deadlines))
        }
        (S::Capturing | S::Unknown, I::CancelRequested) => Ok(cancel_requested(payment)),

        // It has ended. A look at the processor's books may still tell the fee, or that people must look.
        (S::Captured(_), I::CancelRequested) => {
            Ok(Decision { refund: !payment.cancel_requested, ..cancel_requested(payment) })
        }
        (S::Declined { .. } | S::Cancelled, I::CancelRequested) => {
            Ok(to(payment, payment.state.clone(), Next::Keep))
        }
        (S::Captured(_) | S::Declined { .. } | S::Cancelled, I::Due(deadlines)) => {
            if deadlines.wants_look_up() {
                Ok(to(payment, payment.state.clone(), Next::LookUp))
            } else {
                Err(Rejection::Ended)
            }
        }
        (S::Captured(receipt), I::Settled { outcome, superseded }) => {
            after_capture(payment, receipt, &outcome, superseded)
        }
        (S::Captured(receipt), I::LookedUp { finding, superseded, deadlines }) => match finding {
            Finding::Found { outcome, .. } => after_capture(payment, receipt, &outcome, superseded),
            Finding::Missing | Finding::Unanswered(_) if superseded => Err(Rejection::Superseded),
            Finding::Missing if deadlines.searched_enough => Err(Rejection::Contradicted),
            Finding::Missing => Ok(to(payment, payment.state.clone(), Next::LookLater { in_vain: true })),
            Finding::Unanswered(_) => {
                Ok(to(payment, payment.state.clone(), Next::LookLater { in_vain: false }))
            }
        },
        (S::Declined { .. } | S::Cancelled, I::Settled { outcome, superseded }) => {
            after_refusal(payment, &outcome, superseded)
        }
        (S::Declined { .. } | S::Cancelled, I::LookedUp { finding, superseded, .. }) => match finding {
            Finding::Found { outcome, .. } => after_refusal(payment, &outcome, superseded),
            Finding::Missing | Finding::Unanswered(_) if superseded => Err(Rejection::Superseded),
            Finding::Missing => Err(Rejection::Ended),
            Finding::Unanswered(_) => {
                Ok(to(payment, payment.state.clone(), Next::LookLater { in_vain: false }))
            }
        },
    }
}

/// The end of an attempt that is under way.
fn settled(payment: &Payment, outcome: Outcome) -> Decision {
    let in_doubt = payment.state == State::Unknown;
    match outcome {
        Outcome::Succeeded(receipt) => captured(payment, receipt),
        Outcome::Declined { code } | Outcome::Rejected { code, replayed: true } => declined(payment, code),
        Outcome::Rejected { code, replayed: false } if !in_doubt => declined(payment, code),
        clean if clean.leaves_nothing() && !in_doubt => {
            if payment.cancel_requested {
                cancelled(payment)
            } else {
                to(payment, State::Requested, Next::Retry { in_doubt: false })
            }
        }
        open @ (Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. }
        | Outcome::Processing { .. }
        | Outcome::RequiresAction { .. }
        | Outcome::Unknown(_)) => {
            let (next, review) = open.follow_up();
            Decision { review, ..to(payment, State::Unknown, next) }
        }
    }
}

/// The end of a look-up of what is not known.
fn looked_up(payment: &Payment, finding: Finding, deadlines: Deadlines) -> Decision {
    match finding {
        Finding::Found { outcome: Outcome::Succeeded(receipt), .. } => captured(payment, receipt),
        Finding::Found { outcome: Outcome::Declined { code }, .. } => declined(payment, code),
        Finding::Found { outcome, .. } => {
            let (next, review) = outcome.found_open();
            Decision { review, ..to(payment, State::Unknown, next) }
        }
        Finding::Missing | Finding::Unanswered(_) => match deadlines.look_again(&finding) {
            Ok(next) => to(payment, State::Unknown, next),
            Err(Exhausted) => {
                Decision { review: Some(Reason::NotFound), ..to(payment, State::Unknown, Next::Rest) }
            }
        },
    }
}

/// What is heard of a capture that was told before: only its fee is news.
fn after_capture(
    payment: &Payment,
    receipt: &ProcessorReference,
    outcome: &Outcome,
    superseded: bool,
) -> Result<Decision, Rejection> {
    if outcome.denies_success(&receipt.id) {
        return Err(Rejection::Contradicted);
    }
    if superseded {
        return Err(Rejection::Superseded);
    }
    if let (next, Some(reason)) = outcome.found_open() {
        return Ok(Decision { review: Some(reason), ..to(payment, payment.state.clone(), next) });
    }
    match (&receipt.fee, outcome.fee()) {
        (None, Some(fee)) => {
            let receipt = ProcessorReference { fee: Some(fee.clone()), ..receipt.clone() };
            Ok(to(payment, State::Captured(receipt), Next::Rest))
        }
        (None, None) => Ok(to(payment, payment.state.clone(), Next::LookLater { in_vain: false })),
        (Some(_), Some(_) | None) => Err(Rejection::Ended),
    }
}

/// What is heard of a payment of which nothing was taken.
fn after_refusal(payment: &Payment, outcome: &Outcome, superseded: bool) -> Result<Decision, Rejection> {
    if matches!(outcome, Outcome::Succeeded(_)) {
        return Err(Rejection::Contradicted);
    }
    if superseded {
        return Err(Rejection::Superseded);
    }
    match outcome.found_open() {
        (next, Some(reason)) => {
            Ok(Decision { review: Some(reason), ..to(payment, payment.state.clone(), next) })
        }
        (_, None) => Err(Rejection::Ended),
    }
}

fn to(payment: &Payment, state: State, next: Next) -> Decision {
    let payment = Payment { state, ..payment.clone() };
    Decision { payment, next, tell: None, refund: false, review: None }
}

fn cancel_requested(payment: &Payment) -> Decision {
    let unchanged = to(payment, payment.state.clone(), Next::Keep);
    Decision { payment: Payment { cancel_requested: true, ..unchanged.payment }, ..unchanged }
}

fn captured(payment: &Payment, receipt: ProcessorReference) -> Decision {
    let refund = payment.cancel_requested;
    // The money is told of at once; what it cost is looked up until it is known.
    let next = if receipt.fee.is_some() { Next::Rest } else { Next::LookLater { in_vain: false } };
    Decision { tell: Some(Tell::Captured), refund, ..to(payment, State::Captured(receipt), next) }
}

fn declined(payment: &Payment, code: String) -> Decision {
    let tell = Some(Tell::Declined { code: code.clone() });
    Decision { tell, ..to(payment, State::Declined { code }, Next::Rest) }
}

fn cancelled(payment: &Payment) -> Decision {
    Decision { tell: Some(Tell::Cancelled), ..to(payment, State::Cancelled, Next::Rest) }
}
