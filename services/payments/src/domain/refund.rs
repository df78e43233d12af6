//! The states of a refund, and the table that decides each change.
//!
//! The two rules of `payment` hold here too. In addition, a refund that succeeded may still fail, because a bank may
//! return it.

use super::call::LookupsExhausted;
use super::review::Reason;
use super::{AttemptOutcome, CallConditions, CallMode, LookupResult, NextStep, Rejection};

/// A client's refund is accepted only while its payment has fewer refunds, because each read of the payment loads all of them.
/// Failed refunds count. Automatic refunds and those that follow a failed one count, and are never refused.
pub const MOST_REFUNDS: usize = 100;

/// The state of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// No attempt has an unknown outcome. The processor may be processing the refund.
    Pending,
    /// The amount was refunded, once.
    Succeeded {
        /// The processor's id of the refund.
        id: String,
    },
    /// Nothing was refunded, or a bank returned the refund.
    Failed {
        /// The reason.
        code: String,
        /// The processor's id of the refund, if the processor has made one.
        id: Option<String>,
    },
    /// An attempt may have refunded the amount or not. Further attempts use the same key.
    Unknown,
}

/// The part of a refund that a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// Its state.
    pub state: State,
    /// An attempt is in flight, or its worker died.
    pub in_flight: bool,
}

/// Something that happens to a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A worker took the call, because it was due or because another worker's lease had ended.
    Due(CallConditions),
    /// An attempt has ended.
    AttemptEnded {
        /// Its outcome.
        outcome: AttemptOutcome,
        /// A newer attempt has begun since.
        superseded: bool,
    },
    /// A lookup has ended.
    LookedUp {
        /// Its result.
        result: LookupResult,
        /// A newer attempt has begun since.
        superseded: bool,
        /// The conditions at the time of recording.
        conditions: CallConditions,
    },
}

impl Input {
    /// Describes the input for operators.
    pub fn seen(&self) -> String {
        match self {
            Self::Due(_) => "the call was due".to_owned(),
            Self::AttemptEnded { outcome, .. } => outcome.to_string(),
            Self::LookedUp { result, .. } => result.to_string(),
        }
    }
}

/// The changes of one transition. They are written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The state from now on.
    pub state: State,
    /// The next action of the call.
    pub next: NextStep,
    /// The reason for a review, if one is opened.
    pub review: Option<Reason>,
}

/// Decides what one input changes. The match names every pair of state and input, so a new variant must be added here.
///
/// A refund does not expire: the amount is owed until it is refunded or the refund has failed.
pub fn decide(refund: &Refund, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    match (&refund.state, input) {
        // The result of a superseded attempt counts only if it is the end of the call.
        (S::Pending | S::Unknown, I::AttemptEnded { superseded: true, outcome })
            if !outcome.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }
        (S::Pending | S::Unknown, I::LookedUp { superseded: true, result, .. })
            if !result.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }

        (S::Pending, I::Due(CallConditions { mode: CallMode::Lookup, .. })) => {
            Ok(to(&S::Pending, NextStep::Lookup))
        }
        (S::Pending, I::Due(conditions)) if !refund.in_flight => Ok(to(
            &S::Pending,
            // A request that a restored database has lost may have been sent under a key that is expired.
            if conditions.needs_look_up() { NextStep::Lookup } else { NextStep::SendRequest },
        )),
        // The previous attempt reported no outcome.
        (S::Pending | S::Unknown, I::Due(conditions)) => Ok(to(
            &S::Unknown,
            if conditions.needs_look_up() { NextStep::Lookup } else { NextStep::SendRequest },
        )),
        (S::Pending, I::AttemptEnded { .. }) if !refund.in_flight => Err(Rejection::NotInFlight),
        (S::Pending | S::Unknown, I::AttemptEnded { outcome, .. }) => Ok(recorded(&refund.state, outcome)),
        (S::Pending | S::Unknown, I::LookedUp { result, conditions, .. }) => {
            Ok(looked_up(&refund.state, result, conditions))
        }

        // The refund has ended. A lookup may still find that a bank has returned it.
        (S::Succeeded { .. } | S::Failed { .. }, I::Due(conditions)) => {
            if conditions.needs_look_up_after_end() {
                Ok(to(&refund.state, NextStep::Lookup))
            } else {
                Err(Rejection::Ended)
            }
        }
        (S::Succeeded { id }, I::AttemptEnded { outcome, superseded }) => {
            ended(&refund.state, &outcome, outcome.denies_success(id), superseded)
        }
        (S::Failed { id, .. }, I::AttemptEnded { outcome, superseded }) => {
            // The key repeats its first response. A success that a bank has returned since is no contradiction.
            let contradicts = matches!(&outcome, AttemptOutcome::Succeeded(reference) if id.as_ref() != Some(&reference.id));
            ended(&refund.state, &outcome, contradicts, superseded)
        }
        (S::Succeeded { id }, I::LookedUp { result, superseded, conditions }) => match result {
            LookupResult::NotFound | LookupResult::Unanswered(_) if superseded => Err(Rejection::Superseded),
            LookupResult::Found { object, outcome: AttemptOutcome::Declined { code } }
                if object == *id && !superseded =>
            {
                Ok(returned(code, object))
            }
            LookupResult::Found { object, outcome } => {
                ended(&refund.state, &outcome, object != *id, superseded)
            }
            LookupResult::NotFound if conditions.is_last_look_up => Err(Rejection::Contradicted),
            LookupResult::NotFound => Ok(to(&refund.state, NextStep::LookupLater { found_nothing: true })),
            LookupResult::Unanswered(_) => {
                Ok(to(&refund.state, NextStep::LookupLater { found_nothing: false }))
            }
        },
        (S::Failed { .. }, I::LookedUp { result, superseded, .. }) => match result {
            LookupResult::NotFound | LookupResult::Unanswered(_) if superseded => Err(Rejection::Superseded),
            LookupResult::Found { outcome, .. } => {
                // A superseded attempt may have read the object before it failed.
                let contradicts = matches!(outcome, AttemptOutcome::Succeeded(_)) && !superseded;
                ended(&refund.state, &outcome, contradicts, superseded)
            }
            LookupResult::NotFound => Err(Rejection::Ended),
            LookupResult::Unanswered(_) => {
                Ok(to(&refund.state, NextStep::LookupLater { found_nothing: false }))
            }
        },
    }
}

/// Decides the end of an attempt that is in flight.
fn recorded(state: &State, outcome: AttemptOutcome) -> Decision {
    let may_have_arrived = *state == State::Unknown;
    match outcome {
        AttemptOutcome::Succeeded(reference) => succeeded(reference.id),
        AttemptOutcome::Declined { code } | AttemptOutcome::Rejected { code, replayed: true } => {
            failed(code, None)
        }
        AttemptOutcome::Rejected { code, replayed: false } if !may_have_arrived => failed(code, None),
        clean if clean.leaves_nothing() && !may_have_arrived => {
            to(&State::Pending, NextStep::RetryLater { may_have_arrived: false })
        }
        open @ (AttemptOutcome::NotSent
        | AttemptOutcome::NotExecuted { .. }
        | AttemptOutcome::Rejected { .. }
        | AttemptOutcome::Processing { .. }
        | AttemptOutcome::RequiresAction { .. }
        | AttemptOutcome::Unknown(_)) => {
            let (next, review) = open.follow_up();
            // The processor has accepted the refund, so its effect is not unknown.
            let state =
                if matches!(open, AttemptOutcome::Processing { .. }) { state } else { &State::Unknown };
            Decision { review, ..to(state, next) }
        }
    }
}

/// Decides the end of a lookup while the state is open.
fn looked_up(state: &State, result: LookupResult, conditions: CallConditions) -> Decision {
    match result {
        LookupResult::Found { outcome: AttemptOutcome::Succeeded(reference), .. } => succeeded(reference.id),
        LookupResult::Found { outcome: AttemptOutcome::Declined { code }, object } => {
            failed(code, Some(object))
        }
        LookupResult::Found { outcome, .. } => {
            let (next, review) = outcome.found_open();
            Decision { review, ..to(state, next) }
        }
        LookupResult::NotFound | LookupResult::Unanswered(_) => {
            match conditions.look_again(result.found_nothing()) {
                Ok(NextStep::RetryLater { .. }) => {
                    to(state, NextStep::RetryLater { may_have_arrived: *state == State::Unknown })
                }
                Ok(next) => to(state, next),
                Err(LookupsExhausted) => {
                    Decision { review: Some(Reason::NotFound), ..to(&State::Unknown, NextStep::Stop) }
                }
            }
        }
    }
}

/// Decides about an outcome that does not change a refund which has ended.
fn ended(
    state: &State,
    outcome: &AttemptOutcome,
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

fn to(state: &State, next: NextStep) -> Decision {
    Decision { state: state.clone(), next, review: None }
}

fn succeeded(id: String) -> Decision {
    to(&State::Succeeded { id }, NextStep::Stop)
}

fn failed(code: String, id: Option<String>) -> Decision {
    Decision { review: Some(Reason::RefundFailed), ..to(&State::Failed { code, id }, NextStep::Stop) }
}

fn returned(code: String, id: String) -> Decision {
    let failed = to(&State::Failed { code, id: Some(id) }, NextStep::Stop);
    Decision { review: Some(Reason::RefundReturned), ..failed }
}
