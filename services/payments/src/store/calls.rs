//! The table `processor_call`: requests to the processor, and the leases of the workers that make them.
//!
//! Each function that writes a row runs under the row lock of its payment. Lock the payment first: all transactions take
//! the two locks in this order, so they cannot deadlock.

use std::time::Duration;

use chrono::{DateTime, Utc};
use contracts::{PaymentId, TenantId};
use database::functions::{FromNow, clock_timestamp, from_now, present_time};
use database::{Result, Tx, UnitOfWork, WakeUp};
use diesel::dsl::{Nullable, case_when};
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use crate::domain::{CallConditions, CallKind, CallMode, NextStep, time_delta};
use crate::schema::{coalesce, payment, processor_call as call};

/// Due calls are taken in two lanes, because lookups take long, and no charge may wait behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The calls whose request is sent.
    Requests,
    /// The calls that are looked up.
    LookUps,
}

impl Lane {
    /// Wakes the workers of this process after a commit that made a call of the lane due.
    pub(crate) const fn wake_up(self) -> WakeUp {
        match self {
            Self::Requests => WakeUp("payments.requests"),
            Self::LookUps => WakeUp("payments.look_ups"),
        }
    }
}

const NEVER: Option<DateTime<Utc>> = None;

/// A stored call. It has no `Debug`, because it holds the processor's idempotency key.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = call)]
pub(crate) struct CallRow {
    pub(crate) id: Uuid,
    pub(crate) kind: CallKind,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
    pub(crate) attempt: i32,
    pub(crate) in_flight: bool,
    pub(crate) traceparent: Option<String>,
    mode: CallMode,
    look_up_requested: bool,
    look_ups: i32,
    pub(crate) processor_object: Option<String>,
    sent_since: Option<DateTime<Utc>>,
    last_sent_at: Option<DateTime<Utc>>,
    found_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl CallRow {
    /// Returns whether the processor may have received a request. It never received one for a refund made by hand.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent_since.is_some()
    }

    /// Returns whether the latest lookup found nothing.
    pub(crate) fn was_not_found(&self) -> bool {
        self.look_ups > 0
    }

    /// The earliest time at which the processor may have received a request. Before a first attempt, this is the time
    /// at which the call was stored.
    pub(crate) fn sent_since(&self) -> DateTime<Utc> {
        self.sent_since.unwrap_or(self.created_at)
    }

    /// The time of the latest request.
    pub(crate) fn last_sent_at(&self) -> DateTime<Utc> {
        self.last_sent_at.unwrap_or_else(|| self.sent_since())
    }

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
            is_overdue: is_older(self.sent_since.max(self.found_at), limits.review_after),
        }
    }
}

/// A call to insert. It is due at once.
pub(crate) struct NewCall<'a> {
    pub(crate) id: Uuid,
    pub(crate) tenant: &'a TenantId,
    pub(crate) kind: CallKind,
    pub(crate) payment: PaymentId,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
}

/// Inserts a call and wakes the workers after the commit. Key and request body never change afterwards.
pub(crate) async fn insert(tx: &mut Tx, new: NewCall<'_>) -> Result<()> {
    let traceparent = tx.traceparent();
    diesel::insert_into(call::table)
        .values((
            call::id.eq(new.id),
            call::tenant_id.eq(new.tenant.as_str()),
            call::kind.eq(new.kind),
            call::payment_id.eq(new.payment.uuid()),
            call::provider_key.eq(new.provider_key),
            call::request.eq(new.request),
            call::traceparent.eq(traceparent),
        ))
        .execute(tx)
        .await?;
    tx.wake_after_commit(Lane::Requests.wake_up());
    Ok(())
}

/// When a key expires, and how many lookups are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookupLimits {
    /// How long the processor remembers a key, from its first use.
    pub(crate) key_life: Duration,
    /// Consecutive lookups that may find nothing.
    pub(crate) look_ups: i32,
    /// An outcome is reviewed if it is unknown this long after the first request and after the object was last found.
    pub(crate) review_after: Duration,
}

/// A due call with its payment. Both rows are locked.
pub(crate) struct DueCall {
    pub(crate) call: CallRow,
    pub(crate) payment: PaymentRow,
    pub(crate) conditions: CallConditions,
}

/// Locks up to `limit` due calls of a lane with their payments, the longest overdue first.
///
/// It skips rows that another transaction has locked, so it never waits.
pub(crate) async fn lock_due(
    tx: &mut Tx,
    lane: Lane,
    limit: i64,
    limits: LookupLimits,
) -> Result<Vec<DueCall>> {
    let rows: Vec<(CallRow, PaymentRow, DateTime<Utc>)> = call::table
        .inner_join(payment::table)
        .filter(call::needs_look_up.eq(lane == Lane::LookUps))
        .filter(call::due_at.le(present_time()))
        .order(call::due_at)
        .limit(limit)
        .select((CallRow::as_select(), PaymentRow::as_select(), clock_timestamp()))
        .for_update()
        .skip_locked()
        .load(tx)
        .await?;
    let due = |(call, payment, now): (CallRow, PaymentRow, DateTime<Utc>)| {
        let conditions = call.conditions(&payment, now, limits);
        DueCall { call, payment, conditions }
    };
    Ok(rows.into_iter().map(due).collect())
}

/// Locks a call that exists and returns it with its present conditions. The caller has locked `payment`.
pub(crate) async fn lock(
    tx: &mut Tx,
    id: Uuid,
    payment: &PaymentRow,
    limits: LookupLimits,
) -> Result<(CallRow, CallConditions)> {
    let row: (CallRow, DateTime<Utc>) =
        call::table.find(id).select((CallRow::as_select(), clock_timestamp())).for_update().first(tx).await?;
    let (call, now) = row;
    let conditions = call.conditions(payment, now, limits);
    Ok((call, conditions))
}

/// Begins an attempt and leases the call. Returns the number of the attempt, which is the fencing token.
pub(crate) async fn begin_attempt(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let attempt = diesel::update(call::table.find(id))
        .set((
            call::attempt.eq(call::attempt + 1),
            call::in_flight.eq(true),
            call::due_at.eq(after(lease)),
            call::sent_since.eq(coalesce(call::sent_since, clock_timestamp()).nullable()),
            call::last_sent_at.eq(clock_timestamp().nullable()),
        ))
        .returning(call::attempt)
        .get_result(tx)
        .await?;
    Ok(attempt)
}

/// Begins a lookup and leases the call. Returns its number, which is the fencing token.
///
/// It clears a requested lookup, because this one serves it.
pub(crate) async fn begin_look_up(tx: &mut Tx, id: Uuid, lease: Duration) -> Result<i32> {
    let attempt = diesel::update(call::table.find(id))
        .set((
            call::attempt.eq(call::attempt + 1),
            call::in_flight.eq(true),
            call::look_up_requested.eq(false),
            call::due_at.eq(after(lease)),
        ))
        .returning(call::attempt)
        .get_result(tx)
        .await?;
    Ok(attempt)
}

/// Ends a call: no worker takes it again until a lookup is requested.
pub(crate) async fn stop(tx: &mut Tx, id: Uuid) -> Result<()> {
    let stopped = (call::in_flight.eq(false), call::look_up_requested.eq(false), call::due_at.eq(NEVER));
    diesel::update(call::table.find(id)).set(stopped).execute(tx).await?;
    Ok(())
}

/// Requests one lookup, as soon as possible. Its payment is locked.
///
/// If an attempt is in flight, the lookup follows it, because the response of that attempt may be older than the reason
/// for the lookup. A call that was never sent is unchanged, because the processor cannot know it. `object` is the
/// processor's id of the call's object, if the reason for the lookup names it.
pub(crate) async fn request_look_up(tx: &mut Tx, id: Uuid, object: Option<&str>) -> Result<()> {
    let sent_or_ended = call::sent_since.is_not_null().or(call::due_at.is_null());
    let due_at = case_when(call::in_flight, call::due_at).otherwise(clock_timestamp().nullable());
    let object = object.map(|object| {
        let first = case_when(call::processor_object.is_null(), object.into_sql::<Text>().nullable());
        call::processor_object.eq(first.otherwise(call::processor_object))
    });
    diesel::update(call::table.find(id).filter(sent_or_ended))
        .set((call::look_up_requested.eq(true), call::due_at.eq(due_at), object))
        .execute(tx)
        .await?;
    tx.wake_after_commit(Lane::LookUps.wake_up());
    Ok(())
}

/// Records that a request may have been sent since this time, before the database was restored. The call is looked up, because a
/// request could charge for an order that is cancelled. Its payment is locked.
pub(crate) async fn may_be_sent(tx: &mut Tx, id: Uuid, since: DateTime<Utc>) -> Result<()> {
    let sent = (call::sent_since.eq(since), call::last_sent_at.eq(clock_timestamp().nullable()));
    let looked_up = (call::mode.eq(CallMode::LookUp), call::due_at.eq(clock_timestamp().nullable()));
    diesel::update(call::table.find(id)).set((sent, looked_up)).execute(tx).await?;
    tx.wake_after_commit(Lane::LookUps.wake_up());
    Ok(())
}

/// The failures of a call that no worker could take.
#[derive(Queryable)]
pub(crate) struct TakeFailures {
    /// Their number.
    pub(crate) count: i32,
    /// A request may have been sent earlier.
    pub(crate) is_sent: bool,
}

/// Counts one more failure to take the call.
pub(crate) async fn count_failure(tx: &mut Tx, id: Uuid) -> Result<TakeFailures> {
    let failures = diesel::update(call::table.find(id))
        .set(call::faults.eq(call::faults + 1))
        .returning((call::faults, call::sent_since.is_not_null()))
        .get_result(tx)
        .await?;
    Ok(failures)
}

/// Makes the call due after `pause`.
pub(crate) async fn defer(tx: &mut Tx, id: Uuid, pause: Duration) -> Result<()> {
    diesel::update(call::table.find(id)).set(call::due_at.eq(after(pause))).execute(tx).await?;
    Ok(())
}

/// Makes the call due at this time.
pub(crate) async fn defer_until(tx: &mut Tx, id: Uuid, at: DateTime<Utc>) -> Result<()> {
    diesel::update(call::table.find(id)).set(call::due_at.eq(at)).execute(tx).await?;
    Ok(())
}

/// Makes a waiting call due now. Calls in flight and ended calls are unchanged. Its payment is locked.
pub(crate) async fn make_due_now(tx: &mut Tx, id: Uuid) -> Result<()> {
    let waiting = call::table.find(id).filter(call::in_flight.eq(false)).filter(call::due_at.is_not_null());
    diesel::update(waiting).set(call::due_at.eq(clock_timestamp().nullable())).execute(tx).await?;
    tx.wake_after_commit(Lane::Requests.wake_up());
    tx.wake_after_commit(Lane::LookUps.wake_up());
    Ok(())
}

/// The columns that record the result of an attempt or a lookup.
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
    let row = diesel::update(call::table.find(id));
    let found_at = call::found_at.eq(clock_timestamp().nullable());
    let object = observed.object.map(|object| (call::processor_object.eq(object), found_at));
    let ended = (call::last_outcome.eq(observed.text), object, call::in_flight.eq(false));
    let stopped = case_when(call::look_up_requested, clock_timestamp().nullable()).otherwise(NEVER);
    let later = case_when(call::look_up_requested, clock_timestamp().nullable()).otherwise(after(pause));
    let no_look_ups = call::look_ups.eq(0);
    match next {
        NextStep::Unchanged => 0,
        NextStep::Stop => row.set((ended, no_look_ups, call::due_at.eq(stopped))).execute(tx).await?,
        NextStep::RetryLater { may_have_arrived: false } => {
            let unsent = (call::sent_since.eq(NEVER), call::due_at.eq(after(pause)));
            row.set((ended, no_look_ups, unsent)).execute(tx).await?
        }
        NextStep::SendRequest | NextStep::RetryLater { may_have_arrived: true } => {
            row.set((ended, no_look_ups, call::due_at.eq(later))).execute(tx).await?
        }
        NextStep::LookUp | NextStep::LookUpLater { found_nothing: false } => {
            let look_up = (call::mode.eq(CallMode::LookUp), call::due_at.eq(later));
            row.set((ended, look_up)).execute(tx).await?
        }
        NextStep::LookUpLater { found_nothing: true } => {
            let look_up = (call::mode.eq(CallMode::LookUp), call::look_ups.eq(call::look_ups + 1));
            row.set((ended, look_up, call::due_at.eq(later))).execute(tx).await?
        }
    };
    Ok(())
}

fn after(length: Duration) -> Nullable<FromNow> {
    from_now(time_delta(length)).nullable()
}
