//! The states of a payment, and the table that decides each change.
//!
//! Two rules hold for the table. First, a request that may have reached the processor is never given up or cancelled.
//! Second, once the outcome of one attempt is unknown, a later refusal proves nothing. Only an authoritative response
//! under the key ends the unknown state, or an object that is found at the processor.

use super::call::LookupsExhausted;
use super::review::Reason;
use super::{AttemptOutcome, CallConditions, LookupResult, NextStep, ProcessorReference, Rejection};

/// The state of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Something that happens to a payment.
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
    /// The order was cancelled, or the service gives the payment up.
    CancelRequested,
}

impl Input {
    /// Returns whether the input can end a payment because no request has taken effect so far.
    pub fn relies_on_our_rows(&self) -> bool {
        match self {
            Self::Due(conditions) => conditions.payment_expired,
            Self::AttemptEnded { outcome, .. } => !outcome.is_authoritative(),
            Self::LookedUp { .. } => false,
            Self::CancelRequested => true,
        }
    }

    /// Describes the input for operators.
    pub fn seen(&self) -> String {
        match self {
            Self::Due(_) => "the call was due".to_owned(),
            Self::AttemptEnded { outcome, .. } => outcome.to_string(),
            Self::LookedUp { result, .. } => result.to_string(),
            Self::CancelRequested => "the order was cancelled".to_owned(),
        }
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

/// Decides what one input changes. The match names every pair of state and input, so a new variant must be added here.
pub fn decide(payment: &Payment, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    match (&payment.state, input) {
        // The result of a superseded attempt counts only if it is the end of the call.
        (S::Requested | S::Capturing | S::Unknown, I::AttemptEnded { superseded: true, outcome })
            if !outcome.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }
        (S::Requested | S::Capturing | S::Unknown, I::LookedUp { superseded: true, result, .. })
            if !result.is_authoritative() =>
        {
            Err(Rejection::Superseded)
        }

        // No request was sent, but one may have been sent before the database was restored.
        (S::Requested, I::CancelRequested) if payment.is_restored => {
            Ok(to(&cancel_requested(payment).payment, S::Unknown, NextStep::Unchanged))
        }
        (S::Requested, I::Due(CallConditions { payment_expired: true, .. })) if payment.is_restored => {
            Ok(to(payment, S::Unknown, NextStep::Unchanged))
        }
        // No request was sent, so the payment can still be cancelled.
        (S::Requested, I::CancelRequested | I::Due(CallConditions { payment_expired: true, .. })) => {
            Ok(cancelled(payment))
        }
        (S::Requested, I::Due(CallConditions { payment_expired: false, .. })) => {
            Ok(to(payment, S::Capturing, NextStep::SendRequest))
        }
        (S::Requested, I::AttemptEnded { .. } | I::LookedUp { .. }) => Err(Rejection::NotInFlight),

        // The previous attempt reported no outcome. A request that may have arrived is sent again or looked up, although
        // the payment may have expired.
        (S::Capturing | S::Unknown, I::Due(conditions)) => Ok(to(
            payment,
            S::Unknown,
            if conditions.needs_look_up() { NextStep::Lookup } else { NextStep::SendRequest },
        )),
        (S::Capturing | S::Unknown, I::AttemptEnded { outcome, .. }) => Ok(recorded(payment, outcome)),
        (S::Capturing | S::Unknown, I::LookedUp { result, conditions, .. }) => {
            Ok(looked_up(payment, result, conditions))
        }
        (S::Capturing | S::Unknown, I::CancelRequested) => Ok(cancel_requested(payment)),

        // The payment has ended. A lookup may still find the fee, or a contradiction.
        (S::Captured(_), I::CancelRequested) => {
            Ok(Decision { refund: !payment.cancel_requested, ..cancel_requested(payment) })
        }
        (S::Declined { .. } | S::Cancelled, I::CancelRequested) => {
            Ok(to(payment, payment.state.clone(), NextStep::Unchanged))
        }
        (S::Captured(_) | S::Declined { .. } | S::Cancelled, I::Due(conditions)) => {
            if conditions.needs_look_up_after_end() {
                Ok(to(payment, payment.state.clone(), NextStep::Lookup))
            } else {
                Err(Rejection::Ended)
            }
        }
        (S::Captured(reference), I::AttemptEnded { outcome, superseded }) => {
            after_capture(payment, reference, &outcome, superseded)
        }
        (S::Captured(reference), I::LookedUp { result, superseded, conditions }) => match result {
            LookupResult::Found { outcome, .. } => after_capture(payment, reference, &outcome, superseded),
            LookupResult::NotFound | LookupResult::Unanswered(_) if superseded => Err(Rejection::Superseded),
            LookupResult::NotFound if conditions.is_last_look_up => Err(Rejection::Contradicted),
            LookupResult::NotFound => Ok(look_up_later(payment, true)),
            LookupResult::Unanswered(_) => Ok(look_up_later(payment, false)),
        },
        (S::Declined { .. } | S::Cancelled, I::AttemptEnded { outcome, superseded }) => {
            after_refusal(payment, &outcome, superseded)
        }
        (S::Declined { .. } | S::Cancelled, I::LookedUp { result, superseded, .. }) => match result {
            LookupResult::Found { outcome, .. } => after_refusal(payment, &outcome, superseded),
            LookupResult::NotFound | LookupResult::Unanswered(_) if superseded => Err(Rejection::Superseded),
            LookupResult::NotFound => Err(Rejection::Ended),
            LookupResult::Unanswered(_) => Ok(look_up_later(payment, false)),
        },
    }
}

/// Decides the end of an attempt that is in flight.
fn recorded(payment: &Payment, outcome: AttemptOutcome) -> Decision {
    let may_have_arrived = payment.state == State::Unknown || payment.is_restored;
    match outcome {
        AttemptOutcome::Succeeded(reference) => captured(payment, reference),
        AttemptOutcome::Declined { code } | AttemptOutcome::Rejected { code, replayed: true } => {
            declined(payment, code)
        }
        AttemptOutcome::Rejected { code, replayed: false } if !may_have_arrived => declined(payment, code),
        clean if clean.leaves_nothing() && !may_have_arrived => {
            if payment.cancel_requested {
                cancelled(payment)
            } else {
                to(payment, State::Requested, NextStep::RetryLater { may_have_arrived: false })
            }
        }
        open @ (AttemptOutcome::NotSent
        | AttemptOutcome::NotExecuted { .. }
        | AttemptOutcome::Rejected { .. }
        | AttemptOutcome::Processing { .. }
        | AttemptOutcome::RequiresAction { .. }
        | AttemptOutcome::Unknown(_)) => {
            let (next, review) = open.follow_up();
            Decision { review, ..to(payment, State::Unknown, next) }
        }
    }
}

/// Decides the end of a lookup while the state is open.
fn looked_up(payment: &Payment, result: LookupResult, conditions: CallConditions) -> Decision {
    match result {
        LookupResult::Found { outcome: AttemptOutcome::Succeeded(reference), .. } => {
            captured(payment, reference)
        }
        LookupResult::Found { outcome: AttemptOutcome::Declined { code }, .. } => declined(payment, code),
        LookupResult::Found { outcome, .. } => {
            let (next, review) = outcome.found_open();
            Decision { review, ..to(payment, State::Unknown, next) }
        }
        LookupResult::NotFound | LookupResult::Unanswered(_) => {
            match conditions.look_again(result.found_nothing()) {
                Ok(next) => to(payment, State::Unknown, next),
                Err(LookupsExhausted) => {
                    Decision { review: Some(Reason::NotFound), ..to(payment, State::Unknown, NextStep::Stop) }
                }
            }
        }
    }
}

/// Decides about an outcome after the capture was published. Only the fee can still be new.
fn after_capture(
    payment: &Payment,
    reference: &ProcessorReference,
    outcome: &AttemptOutcome,
    superseded: bool,
) -> Result<Decision, Rejection> {
    if outcome.denies_success(&reference.id) {
        return Err(Rejection::Contradicted);
    }
    if superseded {
        return Err(Rejection::Superseded);
    }
    if let (next, Some(reason)) = outcome.found_open() {
        return Ok(Decision { review: Some(reason), ..to(payment, payment.state.clone(), next) });
    }
    match (&reference.fee, outcome.fee()) {
        (None, Some(fee)) => {
            let reference = ProcessorReference { fee: Some(fee.clone()), ..reference.clone() };
            Ok(to(payment, State::Captured(reference), NextStep::Stop))
        }
        (None, None) => Ok(look_up_later(payment, false)),
        (Some(_), Some(_) | None) => Err(Rejection::Ended),
    }
}

/// Decides about an outcome after the payment was declined or cancelled.
fn after_refusal(
    payment: &Payment,
    outcome: &AttemptOutcome,
    superseded: bool,
) -> Result<Decision, Rejection> {
    if matches!(outcome, AttemptOutcome::Succeeded(_)) {
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

fn to(payment: &Payment, state: State, next: NextStep) -> Decision {
    let payment = Payment { state, ..payment.clone() };
    Decision { payment, next, announcement: None, refund: false, review: None }
}

fn look_up_later(payment: &Payment, found_nothing: bool) -> Decision {
    to(payment, payment.state.clone(), NextStep::LookupLater { found_nothing })
}

fn cancel_requested(payment: &Payment) -> Decision {
    let unchanged = to(payment, payment.state.clone(), NextStep::Unchanged);
    Decision { payment: Payment { cancel_requested: true, ..unchanged.payment }, ..unchanged }
}

fn captured(payment: &Payment, reference: ProcessorReference) -> Decision {
    let refund = payment.cancel_requested;
    // The capture is published at once. The fee is looked up until it is known.
    let next =
        if reference.fee.is_some() { NextStep::Stop } else { NextStep::LookupLater { found_nothing: false } };
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
