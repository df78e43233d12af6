//! Takes due calls: one short transaction that leases each call. It never waits for a lock, and sends nothing.

use database::{Tx, UnitOfWork};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

use super::attempt::Attempt;
use super::context::WorkerContext;
use super::failures;
use crate::domain::{CallInput, NextStep, payment};
use crate::processor::{Lookup, LookupScope, Movement, Request};
use crate::store::calls::{self, CallRow, DueCall, Lane};
use crate::store::payments::{self, PaymentRow};
use crate::transitions::{TransitionError, move_call};

/// A call that this worker has leased.
pub(super) struct LeasedCall {
    pub(super) attempt: Attempt,
    pub(super) action: CallAction,
    /// The span of the attempt, in the trace of the request or message that the call serves.
    pub(super) span: Span,
}

/// The next step of the worker for a leased call.
pub(super) enum CallAction {
    /// It sends the request.
    Send(Request),
    /// It looks up the effect of earlier requests.
    Lookup(Lookup),
}

/// The calls of one round.
#[derive(Default)]
pub(super) struct TakenCalls {
    pub(super) leased: Vec<LeasedCall>,
    /// The number of due calls, including those that ended or failed without a lease.
    pub(super) due: usize,
}

/// Takes up to `limit` due calls of a lane. Calls that must not be made any more are ended here.
///
/// A call with an error of its own must not prevent the others from being taken: after an error each call has a savepoint.
pub(super) async fn take(
    context: &WorkerContext,
    lane: Lane,
    limit: usize,
) -> Result<TakenCalls, TransitionError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    match take_together(context, lane, limit).await {
        Err(error) if !error.is_transient() => take_each(context, lane, limit).await,
        taken => taken,
    }
}

async fn take_together(
    context: &WorkerContext,
    lane: Lane,
    limit: i64,
) -> Result<TakenCalls, TransitionError> {
    let (mut tx, due) = calls::begin_with_due(&context.database, lane, limit, context.policy.limits).await?;
    let mut taken = TakenCalls { leased: Vec::new(), due: due.len() };
    for due in &due {
        let span = attempt_span(due);
        taken.leased.extend(begin(&mut tx, context, due).instrument(span).await?);
    }
    if due.is_empty() {
        tx.rollback().await?;
    } else {
        tx.commit().await?;
    }
    Ok(taken)
}

async fn take_each(context: &WorkerContext, lane: Lane, limit: i64) -> Result<TakenCalls, TransitionError> {
    let (mut tx, due) = calls::begin_with_due(&context.database, lane, limit, context.policy.limits).await?;
    let mut taken = TakenCalls { leased: Vec::new(), due: due.len() };
    for due in due {
        let span = attempt_span(&due);
        let begun = tx.savepoint(async |tx| {
            let call = begin(tx, context, &due).await?;
            tx.flush().await?; // an error of these rows concerns this call alone
            Ok(call)
        });
        match begun.instrument(span.clone()).await {
            Ok(call) => taken.leased.extend(call),
            Err(error) if TransitionError::is_transient(&error) => return Err(error),
            Err(error) => {
                let of = (&due.payment, due.call.id);
                failures::count(&mut tx, context, of, &error, None).instrument(span).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(taken)
}

fn attempt_span(due: &DueCall) -> Span {
    let (payment, call, tenant) = (due.payment.id(), due.call.id, due.payment.tenant().ok());
    let trace = due.call.traceparent.as_deref().and_then(traces::trace_id);
    let span = info_span!(parent: None, "attempt", %payment, %call, tenant = tenant.map(display), attempt = Empty, trace);
    traces::follow(&span, due.call.traceparent.as_deref());
    span
}

/// Begins the next attempt or lookup, if the decision table asks for one.
async fn begin(
    tx: &mut Tx,
    context: &WorkerContext,
    due: &DueCall,
) -> Result<Option<LeasedCall>, TransitionError> {
    let WorkerContext { policy, settings, .. } = context;
    let DueCall { call, payment, conditions } = due;
    let payment = &payments::lock(tx, payment.id()).await?; // with what another call of this round has changed
    tx.set_traceparent(call.traceparent.clone());
    let input = CallInput::Due(*conditions);
    let (refund, next) = move_call(tx, policy, payment, call, input).await?;
    let movement = match refund {
        Some(refund) => Movement::Refund(payment.in_its_currency(refund.amount)?),
        None => Movement::Charge(payment.amount()?),
    };
    let number = match next {
        NextStep::SendRequest => calls::begin_attempt(tx, call.id, settings.lease).await?,
        NextStep::Lookup => calls::begin_look_up(tx, call.id, settings.lease).await?,
        NextStep::Stop => {
            calls::stop(tx, call.id).await?;
            return Ok(None);
        }
        NextStep::Unchanged | NextStep::RetryLater { .. } | NextStep::LookupLater { .. } => return Ok(None),
    };
    Span::current().record("attempt", number);
    let attempt = Attempt { payment: payment.id(), call: call.id, number };
    let action = if next == NextStep::Lookup {
        CallAction::Lookup(look_up(context, movement, call, payment)?)
    } else {
        CallAction::Send(Request { movement, key: call.provider_key.clone(), body: call.request.clone() })
    };
    Ok(Some(LeasedCall { attempt, action, span: Span::current() }))
}

/// Decides where to look: at the object with a known id, or among all objects of the time of the attempts.
fn look_up(
    context: &WorkerContext,
    movement: Movement,
    call: &CallRow,
    payment: &PaymentRow,
) -> Result<Lookup, TransitionError> {
    let of_attempts =
        LookupScope::of_attempts(call.sent_since(), call.last_sent_at(), context.settings.lease);
    let (charged, scope) = match (payment.state()?, movement) {
        // An operator has attached it.
        (_, Movement::Refund(_)) if !call.is_sent() && call.processor_object.is_some() => {
            (None, LookupScope::KnownObject)
        }
        (payment::State::Captured(charge), Movement::Refund(_)) => (None, LookupScope::RefundsOf(charge.id)),
        (payment::State::Captured(charge), Movement::Charge(_)) => (Some(charge.id), of_attempts),
        _ => (None, of_attempts),
    };
    let (object, key) = (call.processor_object.clone().or(charged), call.provider_key.clone());
    Ok(Lookup { movement, object, scope, tag: context.policy.bodies.tag(call.id), key })
}
