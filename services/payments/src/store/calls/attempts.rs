//! The beginning and the end of an attempt or a lookup.

use std::time::Duration;

use chrono::{DateTime, Utc};
use database::{Result, Tx};
use uuid::Uuid;

use super::{CallRow, change};
use crate::domain::{CallMode, NextStep, time_delta};

/// Begins an attempt and leases the call. Returns the number of the attempt, which is the fencing token.
pub(crate) async fn begin_attempt(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let begin = |call: &mut CallRow, now| {
        call.attempt += 1;
        call.in_flight = true;
        call.due_at = Some(now + time_delta(lease));
        call.sent_since = call.sent_since.or(Some(now));
        call.last_sent_at = Some(now);
    };
    Ok(change(tx, id, begin).await?.attempt)
}

/// Begins a lookup and leases the call. Returns its number, which is the fencing token.
///
/// It clears a requested lookup, because this one serves it.
pub(crate) async fn begin_look_up(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let begin = |call: &mut CallRow, now| {
        call.attempt += 1;
        call.in_flight = true;
        call.look_up_requested = false;
        call.due_at = Some(now + time_delta(lease));
    };
    Ok(change(tx, id, begin).await?.attempt)
}

/// The part of the result of an attempt or a lookup that is recorded.
pub(crate) struct Observed<'a> {
    /// The outcome as text, for operators.
    pub(crate) text: String,
    /// The processor's id of the object, if the response named it.
    pub(crate) object: Option<&'a str>,
}

/// Ends an attempt or a lookup, and makes the call due again as `next` says: after `pause`, or at once if a lookup was
/// requested in the meantime.
pub(crate) async fn end_attempt(
    tx: &mut Tx,
    id: Uuid,
    observed: Observed<'_>,
    next: NextStep,
    pause: Duration,
) -> Result<()> {
    if next == NextStep::Unchanged {
        return Ok(());
    }
    let end = |call: &mut CallRow, now: DateTime<Utc>| {
        call.in_flight = false;
        call.last_outcome = Some(observed.text);
        if let Some(object) = observed.object {
            call.processor_object = Some(object.to_owned());
            call.found_at = Some(now);
        }
        let later = now + time_delta(pause);
        let requested = call.look_up_requested.then_some(now);
        call.due_at = match next {
            NextStep::Stop => requested,
            NextStep::RetryLater { may_have_arrived: false } => Some(later),
            _ => requested.or(Some(later)),
        };
        match next {
            NextStep::Unchanged => {}
            NextStep::Stop | NextStep::SendRequest | NextStep::RetryLater { may_have_arrived: true } => {
                call.look_ups = 0;
            }
            NextStep::RetryLater { may_have_arrived: false } => {
                call.look_ups = 0;
                call.sent_since = None;
            }
            NextStep::Lookup | NextStep::LookupLater { found_nothing: false } => call.mode = CallMode::Lookup,
            NextStep::LookupLater { found_nothing: true } => {
                call.mode = CallMode::Lookup;
                call.look_ups += 1;
            }
        }
    };
    change(tx, id, end).await.map(drop)
}
