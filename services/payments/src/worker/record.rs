//! Records the results of attempts in one transaction, under the row locks of their payments.
//!
//! A superseded attempt still counts if its result is authoritative, because a key has one effect only. Every other
//! result of a superseded attempt is dropped, because the newer attempt decides. Recording a result twice changes
//! nothing, because a payment that has ended does not change.

use database::{Tx, UnitOfWork};
use futures_util::try_join;
use tracing::{Instrument, Span};

use super::attempt::{AttemptResult, Ended};
use super::context::WorkerContext;
use crate::domain::{AttemptOutcome, LookupResult};
use crate::store::calls::{self, CallRow};
use crate::store::payments::{self, PaymentRow};
use crate::transitions::{TransitionError, charge_attempt_ended, move_call};

/// Records results in one transaction, each in the span of its attempt: all of them or none.
pub(super) async fn record_results(
    context: &WorkerContext,
    ended: &[(Ended, Span)],
) -> Result<(), TransitionError> {
    let payments = ended.iter().map(|(ended, _)| ended.attempt.payment);
    let calls = ended.iter().map(|(ended, _)| ended.attempt.call);
    let (mut tx, _) = context
        .database
        .begin_reading(async |tx| {
            try_join!(tx.lock_all::<PaymentRow>(payments), tx.lock_all::<CallRow>(calls))
        })
        .await?;
    for (ended, span) in ended {
        record_result(&mut tx, context, ended).instrument(span.clone()).await?;
    }
    tx.commit().await?;
    for (ended, span) in ended {
        span.in_scope(|| warn_if_unauthorized(ended));
    }
    Ok(())
}

async fn record_result(
    tx: &mut Tx,
    context: &WorkerContext,
    Ended { attempt, result }: &Ended,
) -> Result<(), TransitionError> {
    let policy = &context.policy;
    let payment = payments::lock(tx, attempt.payment).await?;
    let (call, conditions) = calls::lock(tx, attempt.call, &payment, policy.limits).await?;
    tx.set_traceparent(call.traceparent.clone());
    // The attempt is superseded too if this result is recorded already, by a commit whose outcome was unknown.
    let superseded = call.attempt != attempt.number || !call.in_flight;
    let input = result.input(superseded, conditions);
    let (refund, next) = move_call(tx, policy, &payment, &call, input).await?;
    let pause = context.pause(attempt.number, result, next);
    calls::end_attempt(tx, call.id, result.observed(), next, pause).await?;
    if refund.is_none() {
        charge_attempt_ended(tx, &payment, next).await?;
    }
    Ok(())
}

fn warn_if_unauthorized(Ended { attempt, result }: &Ended) {
    if let AttemptResult::Responded(AttemptOutcome::NotExecuted { status: 401 | 403, .. })
    | AttemptResult::LookedUp(LookupResult::Unanswered(AttemptOutcome::NotExecuted {
        status: 401 | 403,
        ..
    })) = result
    {
        let payment = attempt.payment;
        tracing::error!(%payment, "the processor refuses the API key: check IDEM_PROCESSOR__SECRET_KEY");
    }
}
