//! Handles a call that cannot be taken, for instance because of an unreadable row.
//!
//! The call is retried with growing pauses, so that it does not delay the others. After `worker.faults` failures, a
//! review is opened. A charge that was never sent is then given up, because its client waits for a reply; unless the server
//! failed for an unknown reason, which the call is not to blame for.

use database::Tx;
use serde_json::json;

use crate::domain::NextStep;
use crate::domain::payment::Input;
use crate::domain::review::{Reason, Subject};
use crate::processor::RequestBodies;
use crate::settings::WorkerSettings;
use crate::store::calls::{self, DueCall, TakeFailures};
use crate::store::reviews::NewReview;
use crate::transitions::{TransitionError, move_payment, open_review, payment_cannot_be_taken};

/// Counts one failure of a due call, and defers or ends the call.
pub(super) async fn count(
    tx: &mut Tx,
    bodies: &RequestBodies,
    settings: &WorkerSettings,
    due: &DueCall,
    error: &TransitionError,
) -> Result<(), TransitionError> {
    let (row, payment, call) = (&due.payment, due.payment.id(), due.call.id);
    let TakeFailures { count, is_sent } = calls::count_failure(tx, call).await?;
    tracing::error!(%payment, %call, count, %error, "a call cannot be taken");
    if count < settings.faults {
        return Ok(calls::defer(tx, call, settings.backoff.pause(count, None)).await?);
    }
    let given_up = tx.savepoint(async |tx| {
        let is_charge = call == payment.uuid();
        let subject =
            if is_charge { Subject::Payment(payment) } else { Subject::Refund(payment, call.into()) };
        let may_be_sent = is_sent || outbox::is_restored_since(tx, row.requested_at()?).await?;
        let details = json!({ "faults": count, "sent": may_be_sent, "latest": error.to_string() });
        let tenant = row.tenant()?;
        let review = NewReview { tenant: Some(&tenant), subject, reason: Reason::CannotBeTaken, details };
        open_review(tx, review).await?;
        if may_be_sent || !is_charge || !error.is_permanent() {
            return Ok(NextStep::Unchanged);
        }
        payment_cannot_be_taken(tx, row).await?;
        let (_, next) = move_payment(tx, bodies, row, Input::CancelRequested).await?;
        Ok(next)
    });
    match given_up.await {
        Ok(NextStep::Stop) => Ok(calls::stop(tx, call).await?),
        Err(error) if TransitionError::is_transient(&error) => Err(error),
        Ok(_) | Err(_) => Ok(calls::defer(tx, call, settings.backoff.longest).await?),
    }
}
