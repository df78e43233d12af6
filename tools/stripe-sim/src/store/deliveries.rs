//! Deliveries: which event must still be delivered to which endpoint.

use std::mem::take;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use database::functions::{clock_timestamp, from_now, present_time};
use database::{Buffered, Connection, InsertRows, Result, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::events::Event;
use crate::schema::{delivery, event, unix_now};

/// A delivery that is due.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) id: i64,
    pub(crate) url: String,
    /// The number of this attempt, from 1.
    pub(crate) attempt: i32,
    pub(crate) event: Event,
    /// The time of the database, in unix seconds.
    pub(crate) now: i64,
}

/// A delivery to be stored.
pub(crate) struct NewDelivery {
    pub(crate) event: String,
    pub(crate) url: String,
    pub(crate) due_at: DateTime<Utc>,
}

impl Buffered for NewDelivery {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(delivery::table, rows)
            .column(delivery::event, |row| take(&mut row.event))
            .column(delivery::url, |row| take(&mut row.url))
            .column(delivery::due_at, |row| Some(row.due_at));
        vec![Write::new(insert)]
    }
}

/// Deliveries that are due, oldest first.
pub(crate) async fn due(connection: &mut Connection, limit: i64) -> Result<Vec<Due>> {
    let query = delivery::table
        .inner_join(event::table.on(event::id.eq(delivery::event)))
        .filter(delivery::due_at.le(present_time()))
        .order((delivery::due_at, delivery::id))
        .limit(limit)
        .select((delivery::id, delivery::url, delivery::attempts, Event::as_select(), unix_now()));
    let rows = query.load::<(i64, String, i32, Event, i64)>(connection).await?;
    let due = |(id, url, attempts, event, now)| Due { id, url, attempt: attempts + 1, event, now };
    Ok(rows.into_iter().map(due).collect())
}

/// Marks a delivery as delivered.
pub(crate) async fn delivered(connection: &mut Connection, id: i64) -> Result<()> {
    let never = None::<DateTime<Utc>>;
    diesel::update(delivery::table.find(id))
        .set((
            delivery::due_at.eq(never),
            delivery::delivered_at.eq(clock_timestamp().nullable()),
            delivery::attempts.eq(delivery::attempts + 1),
        ))
        .execute(connection)
        .await?;
    Ok(())
}

/// Counts a failed attempt, and schedules the next one after the pause; `None` ends the delivery.
pub(crate) async fn postpone(connection: &mut Connection, id: i64, pause: Option<Duration>) -> Result<()> {
    let counted = delivery::attempts.eq(delivery::attempts + 1);
    let update = diesel::update(delivery::table.find(id));
    if let Some(pause) = pause {
        let due = from_now(TimeDelta::from_std(pause).unwrap_or(TimeDelta::MAX)).nullable();
        update.set((counted, delivery::due_at.eq(due))).execute(connection).await?;
    } else {
        update.set((counted, delivery::due_at.eq(None::<DateTime<Utc>>))).execute(connection).await?;
    }
    Ok(())
}

/// The time until the next attempt.
pub(crate) async fn next(connection: &mut Connection) -> Result<Option<Duration>> {
    let query = delivery::table
        .filter(delivery::due_at.is_not_null())
        .order(delivery::due_at)
        .select((delivery::due_at.assume_not_null(), clock_timestamp()))
        .first::<(DateTime<Utc>, DateTime<Utc>)>(connection);
    Ok(query.await.optional()?.map(|(due, now)| (due - now).to_std().unwrap_or_default()))
}
