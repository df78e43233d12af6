//! Events: what happened to an object, and the object at that moment.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::protocol::Page;
use crate::schema::event;

/// A stored event.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = event)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) object: Value,
    pub(crate) request: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) created: i64,
    pub(crate) planned: bool,
}

/// An event to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = event)]
pub(crate) struct NewEvent<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) object: &'a Value,
    pub(crate) request: Option<&'a str>,
    pub(crate) idempotency_key: Option<&'a str>,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewEvent<'_>) -> Result<()> {
    diesel::insert_into(event::table).values(new).execute(tx).await?;
    Ok(())
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Event>> {
    Ok(event::table.find(id).select(Event::as_select()).first(tx).await.optional()?)
}

/// Locks and returns events whose deliveries are not planned, oldest first. Locked events are skipped.
pub(crate) async fn unplanned(tx: &mut Tx, limit: i64) -> Result<Vec<Event>> {
    let query = event::table
        .filter(event::planned.eq(false))
        .order(event::position)
        .limit(limit)
        .select(Event::as_select())
        .for_update()
        .skip_locked();
    Ok(query.load(tx).await?)
}

/// Marks events as planned.
pub(crate) async fn mark_planned(tx: &mut Tx, ids: &[&str]) -> Result<()> {
    let events = event::table.filter(event::id.eq_any(ids));
    diesel::update(events).set(event::planned.eq(true)).execute(tx).await?;
    Ok(())
}

/// One row more than the page holds, if there is one, below the position, newest first; of one type, or of all.
pub(crate) async fn list(tx: &mut Tx, page: &Page, below: i64, kind: Option<&str>) -> Result<Vec<Event>> {
    let mut query = event::table
        .filter(event::created.between(page.earliest, page.latest))
        .filter(event::position.lt(below))
        .order(event::position.desc())
        .limit(page.limit + 1)
        .select(Event::as_select())
        .into_boxed();
    if let Some(kind) = kind {
        query = query.filter(event::kind.eq(kind));
    }
    Ok(query.load(tx).await?)
}

/// The position of the event in lists.
pub(crate) async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
    Ok(event::table.find(id).select(event::position).first(tx).await.optional()?)
}
