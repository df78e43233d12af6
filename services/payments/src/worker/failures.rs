//! Handles a call that fails with an error of its own: it cannot be taken, for instance because of an unreadable row, or its
//! result cannot be recorded, for instance because another payment has the same object of the processor.
//!
//! The call is retried with growing pauses, so that it does not delay the others. After `worker.faults` failures, a
//! review is opened. A charge that was never sent is then given up, because its client waits for a reply; unless the server
//! failed for an unknown reason, which the call is not to blame for.

use database::Tx;
use serde_json::json;
use uuid::Uuid;

use super::attempt::Ended;
use super::context::WorkerContext;
use crate::domain::NextStep;
use crate::domain::review::{Reason, Subject};
use crate::store::calls::{self, Observed};
use crate::store::payments::{self, PaymentRow};
use crate::store::reviews::NewReview;
use crate::transitions::{TransitionError, cancel_payment, open_review, payment_cannot_be_taken};

/// Counts one failure of a call, and defers or ends the call. `seen` is the result that cannot be recorded.
pub(super) async fn count(
    tx: &mut Tx,
    WorkerContext { policy, settings, .. }: &WorkerContext,
    (row, call): (&PaymentRow, Uuid),
    error: &TransitionError,
    seen: Option<Observed<'_>>,
) -> Result<(), TransitionError> {
    let payment = row.id();
    let failing = calls::count_failure(tx, call).await?;
    let count = failing.faults;
    let what = if seen.is_some() { "a result cannot be recorded" } else { "a call cannot be taken" };
    tracing::error!(%payment, %call, count, %error, "{what}");
    if count < settings.faults {
        return Ok(calls::defer(tx, call, settings.backoff.pause(count, None)).await?);
    }
    let given_up = tx.savepoint(async |tx| {
        let is_charge = call == payment.uuid();
        let subject =
            if is_charge { Subject::Payment(payment) } else { Subject::Refund(payment, call.into()) };
        let may_be_sent = failing.is_sent() || outbox::is_restored_since(tx, row.requested_at()?).await?;
        let mut details = json!({ "faults": count, "sent": may_be_sent, "latest": error.to_string() });
        if let Some(Observed { text, object }) = seen {
            (details["seen"], details["object"]) = (json!(text), json!(object));
        }
        let tenant = row.tenant()?;
        let review = NewReview { tenant: Some(&tenant), subject, reason: Reason::CannotBeTaken, details };
        open_review(tx, review).await?;
        if may_be_sent || !is_charge || !error.is_permanent() {
            return Ok(NextStep::Unchanged);
        }
        payment_cannot_be_taken(tx, row).await?;
        cancel_payment(tx, policy, row).await
    });
    match given_up.await {
        Ok(NextStep::Stop) => Ok(()),
        Err(error) if TransitionError::is_transient(&error) => Err(error),
        Ok(_) | Err(_) => Ok(calls::defer(tx, call, settings.backoff.longest).await?),
    }
}

/// Counts a failure to record a result, and defers the call, unless a newer attempt has begun.
///
/// The attempt stays in flight. Otherwise the next one would not know that a request may have arrived.
pub(super) async fn count_unrecorded(
    context: &WorkerContext,
    Ended { attempt, result }: &Ended,
    error: &TransitionError,
) -> Result<(), TransitionError> {
    let mut tx = context.database.begin().await?;
    let payment = payments::lock(&mut tx, attempt.payment).await?;
    let (call, _) = calls::lock(&mut tx, attempt.call, &payment, context.policy.limits).await?;
    if call.attempt == attempt.number && call.in_flight {
        count(&mut tx, context, (&payment, call.id), error, Some(result.observed())).await?;
    }
    Ok(tx.commit().await?)
}
