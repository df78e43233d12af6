//! The table `processor_call`: requests to the processor, and the leases of the workers that make them.
//!
//! Each function that writes a row runs under the row lock of its payment. Lock the payment first: all transactions take
//! the two locks in this order, so they cannot deadlock.

mod aggregate;
mod attempts;
mod conditions;
mod row;

use std::time::Duration;

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::functions::{clock_timestamp, present_time};
use database::{Database, Error, Locked, Result, Tx, UnitOfWork, WakeUp};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

pub(crate) use self::attempts::{Observed, begin_attempt, begin_look_up, end_attempt};
use self::conditions::conditions;
pub(crate) use self::row::CallRow;
use super::payments::PaymentRow;
use crate::domain::{CallConditions, CallKind, CallMode, LookupLimits, time_delta};
use crate::schema::{payment, processor_call as call};

/// Due calls are taken in two lanes, because lookups take long, and no charge may wait behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The calls whose request is sent.
    Requests,
    /// The calls that are looked up.
    Lookups,
}

impl Lane {
    /// Wakes the workers of this process after a commit that made a call of the lane due.
    pub(crate) const fn wake_up(self) -> WakeUp {
        match self {
            Self::Requests => WakeUp("payments.requests"),
            Self::Lookups => WakeUp("payments.look_ups"),
        }
    }
}

/// A call to add. It is due at once.
pub(crate) struct NewCall<'a> {
    pub(crate) id: Uuid,
    pub(crate) tenant: &'a TenantId,
    pub(crate) kind: CallKind,
    pub(crate) payment: PaymentId,
    pub(crate) provider_key: String,
    pub(crate) request: Vec<u8>,
}

/// Adds a call and wakes the workers after the commit. Key and request body never change afterwards.
pub(crate) async fn add(tx: &mut Tx, new: NewCall<'_>) -> Result<()> {
    let at = tx.now().await?;
    let row = CallRow {
        id: new.id,
        tenant_id: new.tenant.to_string(),
        kind: new.kind,
        payment_id: new.payment.uuid(),
        provider_key: new.provider_key,
        request: new.request,
        attempt: 0,
        in_flight: false,
        due_at: Some(at),
        sent_since: None,
        last_sent_at: None,
        found_at: None,
        last_outcome: None,
        mode: CallMode::Request,
        look_ups: 0,
        processor_object: None,
        look_up_requested: false,
        faults: 0,
        traceparent: tx.traceparent(),
        created_at: at,
    };
    tx.add(row, at);
    tx.wake_after_commit(Lane::Requests.wake_up());
    Ok(())
}

/// A due call with its payment. Both rows are locked.
pub(crate) struct DueCall {
    pub(crate) call: CallRow,
    pub(crate) payment: PaymentRow,
    pub(crate) conditions: CallConditions,
}

/// Begins a transaction and locks up to `limit` due calls of a lane with their payments, the longest overdue first.
///
/// It skips rows that another transaction has locked, so it never waits.
pub(crate) async fn begin_with_due(
    database: &Database,
    lane: Lane,
    limit: i64,
    limits: LookupLimits,
) -> Result<(Tx, Vec<DueCall>)> {
    let due = call::table
        .inner_join(payment::table)
        .filter(call::needs_look_up.eq(lane == Lane::Lookups))
        .filter(call::due_at.le(present_time()))
        .order(call::due_at)
        .limit(limit)
        .select((CallRow::as_select(), PaymentRow::as_select(), clock_timestamp()))
        .for_update()
        .skip_locked();
    let (mut tx, rows): (Tx, Vec<(CallRow, PaymentRow, DateTime<Utc>)>) =
        database.begin_reading(async |mut tx| Ok::<_, Error>(due.load(&mut tx).await?)).await?;
    let mut due = Vec::with_capacity(rows.len());
    for (call, payment, now) in rows {
        tx.adopt(vec![(call.clone(), now)]);
        tx.adopt(vec![(payment.clone(), now)]);
        let conditions = conditions(&mut tx, &call, &payment, now, limits).await?;
        due.push(DueCall { call, payment, conditions });
    }
    Ok((tx, due))
}

/// Locks a call that exists and returns it with its present conditions. The caller has locked `payment`.
pub(crate) async fn lock(
    tx: &mut Tx,
    id: Uuid,
    payment: &PaymentRow,
    limits: LookupLimits,
) -> Result<(CallRow, CallConditions)> {
    let call = locked(tx, id).await?;
    let conditions = conditions(tx, &call, payment, call.at(), limits).await?;
    Ok((call.into_row(), conditions))
}

async fn locked(tx: &mut Tx, id: Uuid) -> Result<Locked<CallRow>> {
    Ok(tx.lock::<CallRow>(id).await?.ok_or(diesel::result::Error::NotFound)?)
}

async fn change(
    tx: &mut Tx,
    id: Uuid,
    change: impl FnOnce(&mut CallRow, DateTime<Utc>) + Send,
) -> Result<Locked<CallRow>> {
    Ok(locked(tx, id).await?.change(tx, change))
}

/// Ends a call: no worker takes it again until a lookup is requested.
pub(crate) async fn stop(tx: &mut Tx, id: Uuid) -> Result<()> {
    let stop = |call: &mut CallRow, _| {
        call.in_flight = false;
        call.look_up_requested = false;
        call.due_at = None;
    };
    change(tx, id, stop).await.map(drop)
}

/// Requests one lookup, as soon as possible. Its payment is locked.
///
/// If an attempt is in flight, the lookup follows it, because the response of that attempt may be older than the reason
/// for the lookup. A call that was never sent is unchanged, because the processor cannot know it. `object` is the
/// processor's id of the call's object, if the reason for the lookup names it.
pub(crate) async fn request_look_up(tx: &mut Tx, id: Uuid, object: Option<&str>) -> Result<()> {
    let call = locked(tx, id).await?;
    if call.sent_since.is_some() || call.due_at.is_none() {
        let _ = call.change(tx, |call, now| {
            call.look_up_requested = true;
            if !call.in_flight {
                call.due_at = Some(now);
            }
            if call.processor_object.is_none() {
                call.processor_object = object.map(str::to_owned);
            }
        });
    }
    tx.wake_after_commit(Lane::Lookups.wake_up());
    Ok(())
}

/// Records that a request may have been sent since this time, before the database was restored. The call is looked up, because a
/// request could charge for an order that is cancelled. Its payment is locked.
pub(crate) async fn may_be_sent(tx: &mut Tx, id: Uuid, since: DateTime<Utc>) -> Result<()> {
    let look_up = |call: &mut CallRow, now| {
        call.sent_since = Some(since);
        call.last_sent_at = Some(now);
        call.mode = CallMode::Lookup;
        call.due_at = Some(now);
    };
    change(tx, id, look_up).await?;
    tx.wake_after_commit(Lane::Lookups.wake_up());
    Ok(())
}

/// Counts one more failure of a call that no worker could take, or whose result no worker could record.
pub(crate) async fn count_failure(tx: &mut Tx, id: Uuid) -> Result<CallRow> {
    Ok(change(tx, id, |call, _| call.faults += 1).await?.into_row())
}

/// Makes the call due after `pause`.
pub(crate) async fn defer(tx: &mut Tx, id: Uuid, pause: Duration) -> Result<()> {
    change(tx, id, |call, now| call.due_at = Some(now + time_delta(pause))).await.map(drop)
}

/// Makes the call due at this time.
pub(crate) async fn defer_until(tx: &mut Tx, id: Uuid, at: DateTime<Utc>) -> Result<()> {
    change(tx, id, |call, _| call.due_at = Some(at)).await.map(drop)
}

/// Makes a waiting call due now. Calls in flight and ended calls are unchanged. Its payment is locked.
pub(crate) async fn make_due_now(tx: &mut Tx, id: Uuid) -> Result<()> {
    let call = locked(tx, id).await?;
    if !call.in_flight && call.due_at.is_some() {
        let _ = call.change(tx, |call, now| call.due_at = Some(now));
    }
    tx.wake_after_commit(Lane::Requests.wake_up());
    tx.wake_after_commit(Lane::Lookups.wake_up());
    Ok(())
}
