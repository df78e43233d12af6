//! A call to the processor: the machine that a charge and a refund share.
//!
//! Two rules hold for the table. First, the worker never gives up a request that may have reached the processor. Second, once the
//! outcome of one attempt is unknown, a later refusal proves nothing. Only an authoritative response under the key ends the unknown state, or
//! an object that is found at the processor.
//!
//! What goes wrong without the state *unknown*: a request times out after the processor has charged. A worker that takes the timeout
//! for a failure lets the order be cancelled, or charges again under a new key, and the customer pays for nothing or twice.

use strum::{Display, EnumString, IntoStaticStr};

use super::conditions::LookupsExhausted;
use super::review::Reason;
use super::{AttemptOutcome, CallConditions, CallMode, LookupResult, NextStep, ProcessorReference};

/// The kinds of processor calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CallKind {
    /// Charges the card of a payment. At the processor: a `PaymentIntent`.
    Charge,
    /// Gives back a captured payment, in full or in part.
    Refund,
}

/// The state of a call: whether its request was sent, and whether it took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallState {
    /// No request has reached the processor, provably.
    New,
    /// The first attempt that may reach the processor is in flight, or its worker died.
    InFlight,
    /// A request may have taken effect or not. Further attempts use the same key.
    Unknown,
    /// It took effect, once.
    Succeeded(ProcessorReference),
    /// It had no effect, or none is left.
    Failed {
        /// The processor's id of the object, if the processor has made one.
        object: Option<String>,
        /// The reason, for instance `generic_decline`.
        code: String,
    },
}

/// An input of the machine: a due time, or the result of an attempt or a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallInput {
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

/// The changes of a call by one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDecision {
    /// The new state of the call.
    pub state: CallState,
    /// The next action of the worker.
    pub next: NextStep,
    /// The reason for a review, if one is opened.
    pub review: Option<Reason>,
}

/// Why an input changes nothing.
///
/// Responses may be late or repeated, so most rejections are normal. Only a contradiction shows a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The call has ended, and the input agrees with its end.
    Ended,
    /// The call has ended, and a response of the processor denies its end. An operator must look.
    Contradicted,
    /// No attempt is in flight that could have had this outcome.
    NotInFlight,
    /// A newer attempt has begun, and this outcome is not the end of the call. The newer attempt continues.
    Superseded,
}

impl CallInput {
    /// Returns the outcome that an attempt had, or that a lookup found.
    pub(super) fn outcome(&self) -> Option<&AttemptOutcome> {
        match self {
            Self::AttemptEnded { outcome, .. }
            | Self::LookedUp { result: LookupResult::Found { outcome, .. }, .. } => Some(outcome),
            Self::Due(_) | Self::LookedUp { .. } => None,
        }
    }

    /// Returns whether this is the result of an attempt that a newer one has replaced.
    fn is_superseded(&self) -> bool {
        match self {
            Self::Due(_) => false,
            Self::AttemptEnded { superseded, .. } | Self::LookedUp { superseded, .. } => *superseded,
        }
    }

    /// Returns whether this input ends the call, whatever its other attempts return.
    pub(super) fn is_authoritative(&self) -> bool {
        self.outcome().is_some_and(AttemptOutcome::is_authoritative)
    }

    /// Describes the input for operators.
    pub fn seen(&self) -> String {
        match self {
            Self::Due(_) => "the call was due".to_owned(),
            Self::AttemptEnded { outcome, .. } => outcome.to_string(),
            Self::LookedUp { result, .. } => result.to_string(),
        }
    }
}

/// Decides what one input changes. The match names every pair of state and input, so a new variant must be added here.
pub(super) fn decide(call: &CallState, input: CallInput) -> Result<CallDecision, Rejection> {
    use CallInput as I;
    use CallState as S;

    match (call, input) {
        // The result of a superseded attempt counts only if it ends the call.
        (S::New | S::InFlight | S::Unknown, input) if input.is_superseded() && !input.is_authoritative() => {
            Err(Rejection::Superseded)
        }

        (S::New, I::Due(conditions)) => Ok(to(S::InFlight, conditions.action())),
        // Only a lookup is in flight, which has no effect.
        (S::InFlight, I::Due(CallConditions { mode: CallMode::Lookup, .. })) => {
            Ok(to(S::InFlight, NextStep::Lookup))
        }
        // The previous attempt reported no outcome.
        (S::InFlight | S::Unknown, I::Due(conditions)) => Ok(to(S::Unknown, conditions.action())),
        (S::New, I::AttemptEnded { .. }) => Err(Rejection::NotInFlight),
        (S::InFlight | S::Unknown, I::AttemptEnded { outcome, .. }) => Ok(attempt_ended(call, outcome)),
        (S::New | S::InFlight | S::Unknown, I::LookedUp { result, conditions, .. }) => {
            Ok(looked_up(call, result, conditions))
        }

        (S::Succeeded(_) | S::Failed { .. }, input) => after_end(call, &input),
    }
}

/// Decides the end of an attempt that is in flight.
fn attempt_ended(call: &CallState, outcome: AttemptOutcome) -> CallDecision {
    let may_have_arrived = *call == CallState::Unknown;
    match outcome {
        AttemptOutcome::Succeeded(reference) => to(CallState::Succeeded(reference), NextStep::Stop),
        AttemptOutcome::Declined { code } | AttemptOutcome::Rejected { code, replayed: true } => {
            failed(None, code)
        }
        AttemptOutcome::Rejected { code, replayed: false } if !may_have_arrived => failed(None, code),
        clean if clean.leaves_nothing() && !may_have_arrived => {
            to(CallState::New, NextStep::RetryLater { may_have_arrived: false })
        }
        open @ (AttemptOutcome::NotSent
        | AttemptOutcome::NotExecuted { .. }
        | AttemptOutcome::Rejected { .. }
        | AttemptOutcome::Processing { .. }
        | AttemptOutcome::RequiresAction { .. }
        | AttemptOutcome::Unknown(_)) => {
            let (next, review) = open.follow_up();
            CallDecision { review, ..to(CallState::Unknown, next) }
        }
    }
}

/// Decides the end of a lookup while the result of the call is open.
fn looked_up(call: &CallState, result: LookupResult, conditions: CallConditions) -> CallDecision {
    let may_have_arrived = *call == CallState::Unknown;
    match result {
        LookupResult::Found { outcome: AttemptOutcome::Succeeded(reference), .. } => {
            to(CallState::Succeeded(reference), NextStep::Stop)
        }
        LookupResult::Found { outcome: AttemptOutcome::Declined { code }, object } => {
            failed(Some(object), code)
        }
        LookupResult::Found { outcome, .. } => {
            let (next, review) = outcome.found_open();
            CallDecision { review, ..to(call.clone(), next) }
        }
        LookupResult::NotFound | LookupResult::Unanswered(_) => {
            match conditions.look_again(result.found_nothing(), may_have_arrived) {
                Ok(next @ NextStep::RetryLater { may_have_arrived: false }) => to(CallState::New, next),
                Ok(next) => to(call.clone(), next),
                Err(LookupsExhausted) => {
                    CallDecision { review: Some(Reason::NotFound), ..to(CallState::Unknown, NextStep::Stop) }
                }
            }
        }
    }
}

/// Decides about an input after the end of the call. A late or repeated result agrees with the end, or contradicts it.
fn after_end(call: &CallState, input: &CallInput) -> Result<CallDecision, Rejection> {
    if let Some(outcome) = input.outcome() {
        return match outcome.found_open() {
            _ if contradicts(call, input, outcome) => Err(Rejection::Contradicted),
            _ if input.is_superseded() => Err(Rejection::Superseded),
            (next, review @ Some(_)) => Ok(CallDecision { review, ..to(call.clone(), next) }),
            (_, None) => Err(Rejection::Ended),
        };
    }
    let look_up_later = |found_nothing| Ok(to(call.clone(), NextStep::LookupLater { found_nothing }));
    match (input, call) {
        (CallInput::Due(conditions), _) if conditions.needs_look_up_after_end() => {
            Ok(to(call.clone(), NextStep::Lookup))
        }
        (CallInput::LookedUp { superseded: true, .. }, _) => Err(Rejection::Superseded),
        (CallInput::LookedUp { result: LookupResult::Unanswered(_), .. }, _) => look_up_later(false),
        (CallInput::LookedUp { conditions, .. }, CallState::Succeeded(_)) if conditions.is_last_look_up => {
            Err(Rejection::Contradicted)
        }
        (CallInput::LookedUp { .. }, CallState::Succeeded(_)) => look_up_later(true),
        (CallInput::Due(_) | CallInput::AttemptEnded { .. } | CallInput::LookedUp { .. }, _) => {
            Err(Rejection::Ended)
        }
    }
}

/// Returns whether the outcome of an attempt or a lookup denies the end of the call.
fn contradicts(call: &CallState, input: &CallInput, outcome: &AttemptOutcome) -> bool {
    let found = if let CallInput::LookedUp { result, .. } = input { result.object() } else { None };
    match call {
        CallState::New | CallState::InFlight | CallState::Unknown => false,
        CallState::Succeeded(reference) => {
            outcome.denies_success(&reference.id) || found.is_some_and(|found| found != reference.id)
        }
        // The key repeats its first response, also after a bank has returned the object. A superseded lookup may have read the
        // object before it failed.
        CallState::Failed { object, .. } => {
            let agrees = object.as_deref().filter(|_| found.is_none() || input.is_superseded());
            outcome.is_success_of_another(agrees)
        }
    }
}

fn to(state: CallState, next: NextStep) -> CallDecision {
    CallDecision { state, next, review: None }
}

fn failed(object: Option<String>, code: String) -> CallDecision {
    to(CallState::Failed { object, code }, NextStep::Stop)
}
