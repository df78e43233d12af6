//! Decisions that a bank makes later.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use database::functions::{clock_timestamp, from_now, present_time};
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::bank_decision;

/// A decision that is due.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = bank_decision)]
pub(crate) struct Due {
    pub(crate) id: i64,
    pub(crate) object: String,
    pub(crate) decision: String,
}

/// Stores a decision about the object, due after the delay.
pub(crate) async fn insert(tx: &mut Tx, object: &str, decision: &str, delay: Duration) -> Result<()> {
    let delay = TimeDelta::from_std(delay).unwrap_or(TimeDelta::MAX);
    let row = (
        bank_decision::object.eq(object),
        bank_decision::decision.eq(decision),
        bank_decision::due_at.eq(from_now(delay)),
    );
    diesel::insert_into(bank_decision::table).values(row).execute(tx).await?;
    Ok(())
}

/// Deletes and returns the decision that has been due the longest. Rows locked by another process are skipped.
pub(crate) async fn take_due(tx: &mut Tx) -> Result<Option<Due>> {
    let due = bank_decision::table
        .filter(bank_decision::due_at.nullable().le(present_time()))
        .order(bank_decision::due_at)
        .select(Due::as_select())
        .for_update()
        .skip_locked();
    let Some(due) = due.first(tx).await.optional()? else { return Ok(None) };
    diesel::delete(bank_decision::table.find(due.id)).execute(tx).await?;
    Ok(Some(due))
}

/// The time until the next decision.
pub(crate) async fn next(connection: &mut Connection) -> Result<Option<Duration>> {
    let query = bank_decision::table
        .order(bank_decision::due_at)
        .select((bank_decision::due_at, clock_timestamp()))
        .first::<(DateTime<Utc>, DateTime<Utc>)>(connection);
    Ok(query.await.optional()?.map(|(due, now)| (due - now).to_std().unwrap_or_default()))
}
