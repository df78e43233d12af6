//! Applies an operator's resolution of a review to a payment or refund.
//!
//! The resolution runs through the same decision tables as a response of the processor.

use std::time::Duration;

use database::Tx;
use serde::Serialize;

use super::{TransitionError, move_payment, move_refund};
use crate::domain::resolution::{RecordedState, ResolutionEffect, effect};
use crate::domain::review::{Reason, Resolution, Subject};
use crate::domain::{AttemptOutcome, CallInput, LookupResult, refund};
use crate::processor::CallPolicy;
use crate::store::calls::{self, Observed};
use crate::store::payments::PaymentRow;
use crate::store::refunds::{self, RefundRow};
use crate::store::reviews::ReviewRow;

/// The recorded state before and after a resolution.
#[derive(Debug, Serialize)]
pub(crate) struct Applied {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// Why a call that cannot be taken is not resolved as not made.
const NOT_LOOKED_UP: &str = "a request was sent, and no lookup has ended since: repair the row, and the worker asks the \
                             processor; or search its dashboard and, if the object is there, add --processor-id";

/// Applies a resolution to the subject of a review. Returns `None` if the rows agree with the resolution already, and
/// [`TransitionError::Refused`] with the operator's next step if it cannot be applied. The payment and the review are locked.
pub(crate) async fn apply_resolution(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: Option<&PaymentRow>,
    review: &ReviewRow,
    (resolution, processor_id): (Resolution, Option<&str>),
) -> Result<Option<Applied>, TransitionError> {
    let refund = match review.subject()? {
        Subject::Refund(_, id) => Some(refunds::get(tx, id).await?),
        Subject::Payment(_) | Subject::Orphan(_) => None,
    };
    let from = match (payment, &refund) {
        (Some(_), Some(refund)) => RecordedState::of_refund(&refund.state()?),
        (Some(payment), None) => RecordedState::of_payment(&payment.state()?),
        (None, _) => RecordedState::Orphan,
    };
    let outcome = match effect(from, resolution, processor_id) {
        Ok(ResolutionEffect::Apply(outcome)) => outcome,
        Ok(ResolutionEffect::Close) => return Ok(None),
        Err(instead) => return Err(TransitionError::Refused(instead.to_owned())),
    };
    let Some(payment) = payment else { return Ok(None) };
    if let (Reason::CannotBeTaken, AttemptOutcome::Declined { .. }) = (review.reason, &outcome) {
        let call = refund.as_ref().map_or(payment.id, |refund| refund.id);
        let (call, _) = calls::lock(tx, call, payment, policy.limits).await?;
        if call.is_sent() && !call.was_not_found() {
            return Err(TransitionError::Refused(NOT_LOOKED_UP.to_owned()));
        }
    }
    let to = apply_outcome(tx, policy, payment, refund.as_ref(), outcome).await?;
    if from == to {
        let instead = "nothing changed because an attempt is in flight; wait until it has ended";
        return Err(TransitionError::Refused(instead.to_owned()));
    }
    Ok(Some(Applied { from: name(from), to: name(to) }))
}

/// Applies an outcome to a payment or its refund, as if the processor had responded with it. The payment is locked.
pub(super) async fn apply_outcome(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    refund: Option<&RefundRow>,
    outcome: AttemptOutcome,
) -> Result<RecordedState, TransitionError> {
    let ended = CallInput::AttemptEnded { outcome: outcome.clone(), superseded: false };
    let (call, recorded, next) = if let Some(refund) = refund {
        let (_, conditions) = calls::lock(tx, refund.id, payment, policy.limits).await?;
        let input = match refund.state()? {
            // A refund that succeeded can only have been returned, so decide as if a lookup had found that.
            refund::State::Succeeded { id: object } => {
                let result = LookupResult::Found { object, outcome: outcome.clone() };
                CallInput::LookedUp { result, superseded: false, conditions }
            }
            refund::State::Pending | refund::State::Unknown | refund::State::Failed { .. } => ended,
        };
        // `in_flight` is true, because the resolution counts even if no attempt was made.
        let (state, next) = move_refund(tx, policy, payment, refund, true, input).await?;
        (refund.id, RecordedState::of_refund(&state), next)
    } else {
        let (state, next) = move_payment(tx, policy, payment, ended).await?;
        (payment.id, RecordedState::of_payment(&state), next)
    };
    // Stop the call, or make the lookup due that the decision asks for.
    let observed = Observed { text: format!("review: {outcome}"), object: outcome.object() };
    calls::end_attempt(tx, call, observed, next, Duration::ZERO).await?;
    Ok(recorded)
}

fn name(state: RecordedState) -> &'static str {
    match state {
        RecordedState::Open | RecordedState::RefundOpen => "unknown",
        RecordedState::Captured => "captured",
        RecordedState::NotCaptured => "not captured",
        RecordedState::Untried => "requested",
        RecordedState::Refunded => "refunded",
        RecordedState::NotRefunded => "not refunded",
        RecordedState::Orphan => "nothing",
    }
}
