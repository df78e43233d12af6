//! Limits how many aggregates are parked for the same reason.
//!
//! A reason that parks one aggregate after the other is not theirs: a defect of a handler, or a missing table. Parking would
//! then move the whole stream into `inbox_parked`, and an operator would have to redrive it.

use std::time::Duration;

use chrono::TimeDelta;
use database::Tx;
use database::functions::{from_now, pg_advisory_xact_lock};
use diesel::dsl::count;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::{PARKED, inbox_parked};
use crate::{HandlerError, RunnerSettings};

/// The number of the advisory lock. It is arbitrary, but all instances of all versions must use the same number.
const LOCK: i64 = 0x1dea_0000_0009;

/// Returns whether one more aggregate may be parked for the reason of this error. If so, all other parking waits until the
/// transaction has ended, so that partitions that fail at once do not exceed the limit together.
///
/// A corrupt record is always parked: it would stop its partition for ever, and no fix of this service makes it readable.
///
/// While a partition waits, the window grows by `stopped_for`. Otherwise time alone would let it park the next aggregates.
pub(crate) async fn may_park(
    tx: &mut Tx,
    consumer: &str,
    error: &HandlerError,
    settings: &RunnerSettings,
    stopped_for: Duration,
) -> database::Result<bool> {
    if matches!(error, HandlerError::Corrupt { .. }) {
        return Ok(true);
    }
    diesel::select(pg_advisory_xact_lock(LOCK)).execute(tx).await?;
    let window = TimeDelta::from_std(settings.parking_window + stopped_for).unwrap_or(TimeDelta::MAX);
    let parked: i64 = inbox_parked::table
        .filter(inbox_parked::consumer.eq(consumer))
        .filter(inbox_parked::state.eq(PARKED))
        .filter(inbox_parked::reason.eq(error.reason()))
        .filter(inbox_parked::parked_at.gt(from_now(-window)))
        .select(count(inbox_parked::aggregate_id).aggregate_distinct())
        .get_result(tx)
        .await?;
    Ok(parked < settings.parking_limit)
}
