//! Events: what happened to an object, and the object at that moment.

use std::mem::take;

use database::{Buffered, InsertRows, Result, Tx, Write};
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
}

/// An event to be stored.
#[derive(Debug)]
pub(crate) struct NewEvent {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) object: Value,
    pub(crate) request: Option<String>,
    pub(crate) idempotency_key: Option<String>,
}

impl Buffered for NewEvent {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(event::table, rows)
            .column(event::id, |row| take(&mut row.id))
            .column(event::kind, |row| row.kind)
            .column(event::object, |row| row.object.take())
            .column(event::request, |row| row.request.take())
            .column(event::idempotency_key, |row| row.idempotency_key.take());
        vec![Write::new(insert)]
    }
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Event>> {
    Ok(event::table.find(id).select(Event::as_select()).first(tx).await.optional()?)
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
