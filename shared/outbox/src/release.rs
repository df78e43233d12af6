//! `release`: lets the relay publish the events that Kafka has refused, and the events behind them.
//!
//! The relay looks for released events every second, and publishes them in order. An event that is refused again is blocked
//! again.

use database::functions::clock_timestamp;
use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::relay::outbox_blocked;

/// Releases the blocked events of one aggregate, or of all. Returns the aggregate of each event.
///
/// # Errors
/// Database errors.
pub async fn release(tx: &mut Tx, aggregate: Option<Uuid>) -> Result<Vec<Uuid>> {
    let mut release = diesel::update(outbox_blocked::table)
        .set(outbox_blocked::released_at.eq(clock_timestamp().nullable()))
        .into_boxed()
        .filter(outbox_blocked::released_at.is_null());
    if let Some(aggregate) = aggregate {
        release = release.filter(outbox_blocked::aggregate_id.eq(aggregate));
    }
    Ok(release.returning(outbox_blocked::aggregate_id).get_results(tx).await?)
}
