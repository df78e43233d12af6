//! The states of a payment, and the table that decides each change.
//!
//! `call::decide` decides about the charge's call. A payment adds its expiry, the cancellation of its order, and the fee.

use strum::{EnumDiscriminants, EnumString, IntoStaticStr};

use super::call::{self, CallDecision};
use super::review::Reason;
use super::{CallConditions, CallInput, CallState, Fee, NextStep, ProcessorReference, Rejection};

/// The state of a payment.
#[derive(Debug, Clone, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(Status),
    derive(EnumString, IntoStaticStr),
    strum(serialize_all = "snake_case"),
    doc = "A [`State`] without its details: one word, as the table has it."
)]
pub enum State {
    /// No request has reached the processor, provably.
    Requested,
    /// The first attempt that may reach the processor is in flight.
    Capturing,
    /// The card was charged, once.
    Captured(ProcessorReference),
    /// The processor declined. The card was not charged.
    Declined {
        /// The reason, for instance `generic_decline`.
        code: String,
    },
    /// An attempt may have charged the card or not. Further attempts use the same key.
    Unknown,
    /// Cancelled or expired before a request reached the processor.
    Cancelled,
}

/// The part of a payment that a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its state.
    pub state: State,
    /// The order was cancelled.
    pub cancel_requested: bool,
    /// The database was restored or promoted after the payment was requested. The processor may have a request that is not
    /// in our rows.
    pub is_restored: bool,
}

impl Payment {
    /// Returns the state of the charge's call.
    fn call(&self) -> CallState {
        match &self.state {
            State::Requested => CallState::New,
            // A request that is not in our rows may have been sent earlier.
            State::Capturing if self.is_restored => CallState::Unknown,
            State::Capturing => CallState::InFlight,
            State::Unknown => CallState::Unknown,
            State::Captured(reference) => CallState::Succeeded(reference.clone()),
            State::Declined { code } => CallState::Failed { object: None, code: code.clone() },
            State::Cancelled => CallState::Failed { object: None, code: "cancelled".to_owned() },
        }
    }
}

/// Returns whether an input of the call can end a payment because no request has taken effect so far.
pub fn relies_on_our_rows(input: &CallInput) -> bool {
    match input {
        CallInput::Due(conditions) => conditions.payment_expired,
        CallInput::AttemptEnded { .. } => !input.is_authoritative(),
        CallInput::LookedUp { .. } => false,
    }
}

/// The changes of one transition. They are written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The payment from now on.
    pub payment: Payment,
    /// The next action of the call.
    pub next: NextStep,
    /// The event to publish.
    pub announcement: Option<Announcement>,
    /// True if the rest of the captured amount is refunded.
    pub refund: bool,
    /// The reason for a review, if one is opened.
    pub review: Option<Reason>,
}

/// The event that a change publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announcement {
    /// `PaymentCaptured`.
    Captured,
    /// `PaymentDeclined`.
    Declined {
        /// The reason, for instance `generic_decline`.
        code: String,
    },
    /// `PaymentCancelled`.
    Cancelled,
}

/// Decides what one input of the charge's call changes.
pub fn decide(payment: &Payment, input: CallInput) -> Result<Decision, Rejection> {
    // No request was sent, so the payment expires.
    if let (State::Requested, CallInput::Due(CallConditions { payment_expired: true, .. })) =
        (&payment.state, &input)
    {
        return Ok(if payment.is_restored { maybe_sent(payment) } else { cancelled(payment) });
    }
    let outcome = input.outcome().cloned();
    let CallDecision { state, next, review } =
        match (&payment.state, outcome, call::decide(&payment.call(), input)) {
            // The capture was published at once, and the outcome agrees with it. Only the fee can still be new.
            (State::Captured(reference), Some(outcome), Err(Rejection::Ended)) if reference.fee.is_none() => {
                return Ok(with_fee(payment, reference, outcome.fee()));
            }
            (_, _, decision) => decision?,
        };
    let open = |state| Decision { review, ..to(payment, state, next) };
    Ok(match (&payment.state, state) {
        (State::Captured(_) | State::Declined { .. } | State::Cancelled, _) => open(payment.state.clone()),
        (_, CallState::New) if payment.cancel_requested => cancelled(payment),
        (_, CallState::New) => open(State::Requested),
        (_, CallState::InFlight) => open(State::Capturing),
        (_, CallState::Unknown) => open(State::Unknown),
        (_, CallState::Succeeded(reference)) => captured(payment, reference),
        (_, CallState::Failed { code, .. }) => declined(payment, code),
    })
}

/// Decides what the cancellation of the order changes: the payment ends if no request was sent, and a captured payment is refunded.
///
/// The worker never gives up a request in flight. The transition that records its capture sees the cancellation, and refunds it.
pub fn cancel(payment: &Payment) -> Decision {
    let requested = Payment { cancel_requested: true, ..payment.clone() };
    let unchanged = |payment: &Payment| to(payment, payment.state.clone(), NextStep::Unchanged);
    match payment.state {
        State::Requested if payment.is_restored => maybe_sent(&requested),
        State::Requested => cancelled(payment),
        State::Capturing | State::Unknown => unchanged(&requested),
        State::Captured(_) => Decision { refund: !payment.cancel_requested, ..unchanged(&requested) },
        State::Declined { .. } | State::Cancelled => unchanged(payment),
    }
}

fn to(payment: &Payment, state: State, next: NextStep) -> Decision {
    let payment = Payment { state, ..payment.clone() };
    Decision { payment, next, announcement: None, refund: false, review: None }
}

/// No request was sent by our rows, but one may have been sent before the database was restored.
fn maybe_sent(payment: &Payment) -> Decision {
    to(payment, State::Unknown, NextStep::Unchanged)
}

fn with_fee(payment: &Payment, reference: &ProcessorReference, fee: Option<&Fee>) -> Decision {
    let reference = ProcessorReference { fee: fee.cloned(), ..reference.clone() };
    let next = after_capture(&reference);
    to(payment, State::Captured(reference), next)
}

/// The capture is published at once. The fee is looked up until it is known.
fn after_capture(reference: &ProcessorReference) -> NextStep {
    if reference.fee.is_some() { NextStep::Stop } else { NextStep::LookupLater { found_nothing: false } }
}

fn captured(payment: &Payment, reference: ProcessorReference) -> Decision {
    let (refund, next) = (payment.cancel_requested, after_capture(&reference));
    Decision {
        announcement: Some(Announcement::Captured),
        refund,
        ..to(payment, State::Captured(reference), next)
    }
}

fn declined(payment: &Payment, code: String) -> Decision {
    let announcement = Some(Announcement::Declined { code: code.clone() });
    Decision { announcement, ..to(payment, State::Declined { code }, NextStep::Stop) }
}

fn cancelled(payment: &Payment) -> Decision {
    Decision { announcement: Some(Announcement::Cancelled), ..to(payment, State::Cancelled, NextStep::Stop) }
}
