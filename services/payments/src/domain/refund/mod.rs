//! The states of a refund, and the table that decides each change.
//!
//! `call::decide` decides about the refund's call. A refund adds that one which succeeded may still fail, because a bank may return
//! it.

mod request;
mod retry;

use strum::{Display, EnumDiscriminants, EnumString, IntoStaticStr, VariantArray};

pub use self::request::{MOST_REFUNDS, Refundable, Refusal};
pub use self::retry::{RefundRetries, RefusedRefund};
use super::call::{self, CallDecision};
use super::review::Reason;
use super::{AttemptOutcome, CallInput, CallState, LookupResult, NextStep, ProcessorReference, Rejection};

/// The state of a refund.
#[derive(Debug, Clone, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(Status),
    derive(Display, EnumString, IntoStaticStr, VariantArray),
    strum(serialize_all = "snake_case"),
    doc = "A [`State`] without its details: one word, as the table has it."
)]
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

impl Refund {
    /// Returns the state of the refund's call.
    fn call(&self) -> CallState {
        match &self.state {
            State::Pending if self.in_flight => CallState::InFlight,
            State::Pending => CallState::New,
            State::Unknown => CallState::Unknown,
            State::Succeeded { id } => {
                CallState::Succeeded(ProcessorReference { id: id.clone(), charge: None, fee: None })
            }
            State::Failed { code, id } => CallState::Failed { object: id.clone(), code: code.clone() },
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

/// Decides what one input of the refund's call changes.
///
/// A refund does not expire: the amount is owed until it is refunded or the refund has failed.
pub fn decide(refund: &Refund, input: CallInput) -> Result<Decision, Rejection> {
    // A bank may return a refund that succeeded: a lookup finds that its object has failed.
    if let (State::Succeeded { id }, CallInput::LookedUp { result, superseded, .. }) = (&refund.state, &input)
        && let LookupResult::Found { object, outcome: AttemptOutcome::Declined { code } } = result
        && object == id
    {
        return if *superseded {
            Err(Rejection::Superseded)
        } else {
            Ok(returned(code.clone(), object.clone()))
        };
    }
    // The processor has accepted the refund, so its effect is not unknown.
    let is_accepted = refund.state == State::Pending
        && matches!(&input, CallInput::AttemptEnded { outcome: AttemptOutcome::Processing { .. }, .. });
    let CallDecision { state, next, review } = call::decide(&refund.call(), input)?;
    let to = |state| Decision { state, next, review };
    Ok(match (&refund.state, state) {
        (State::Succeeded { .. } | State::Failed { .. }, _) => to(refund.state.clone()),
        (_, CallState::New | CallState::InFlight) => to(State::Pending),
        (_, CallState::Unknown) if is_accepted => to(State::Pending),
        (_, CallState::Unknown) => to(State::Unknown),
        (_, CallState::Succeeded(reference)) => to(State::Succeeded { id: reference.id }),
        (_, CallState::Failed { object, code }) => {
            Decision { review: Some(Reason::RefundFailed), ..to(State::Failed { code, id: object }) }
        }
    })
}

fn returned(code: String, id: String) -> Decision {
    let state = State::Failed { code, id: Some(id) };
    Decision { state, next: NextStep::Stop, review: Some(Reason::RefundReturned) }
}
