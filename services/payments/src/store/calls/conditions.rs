//! The conditions of a call, from its row, its payment and the clock; and from a restore of the database.

use chrono::{DateTime, Utc};
use database::{Result, Tx};

use super::row::CallRow;
use crate::domain::{CallConditions, CallKind, LookupLimits, LookupResult, time_delta};
use crate::store::payments::PaymentRow;

impl CallRow {
    fn conditions(&self, payment: &PaymentRow, now: DateTime<Utc>, limits: LookupLimits) -> CallConditions {
        let is_older = |since: Option<DateTime<Utc>>, limit| {
            since.is_some_and(|since| now.signed_duration_since(since) >= time_delta(limit))
        };
        CallConditions {
            payment_expired: payment.expires_at <= now,
            key_expired: is_older(self.sent_since, limits.key_life),
            mode: self.mode,
            look_up_requested: self.look_up_requested,
            is_last_look_up: self.look_ups.saturating_add(1) >= limits.look_ups,
            is_overdue: is_older(Some(self.sent_since()).max(self.found_at), limits.review_after),
        }
    }
}

/// The conditions of a call. A refund that was not sent may have been sent before the database was restored, under a key that the
/// processor has deleted since. Payments need no such condition, because they do not live longer than a key.
pub(super) async fn conditions(
    tx: &mut Tx,
    call: &CallRow,
    payment: &PaymentRow,
    now: DateTime<Utc>,
    limits: LookupLimits,
) -> Result<CallConditions> {
    let mut conditions = call.conditions(payment, now, limits);
    if call.kind == CallKind::Charge || call.is_sent() {
        return Ok(conditions);
    }
    let is_old = |since| now.signed_duration_since(since) >= time_delta(limits.key_life);
    let requested_at = payment.requested_at()?;
    if is_old(call.created_at) {
        conditions.key_expired = outbox::is_restored_since(tx, call.created_at).await?;
    } else if is_old(requested_at) && call.last_outcome.as_deref().is_none_or(LookupResult::is_unanswered) {
        // A client may have repeated a refund that the database has lost. An answered lookup before the first request finds it.
        conditions.look_up_requested |= outbox::is_restored_since(tx, requested_at).await?;
    }
    Ok(conditions)
}
