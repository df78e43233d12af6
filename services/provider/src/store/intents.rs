//! Payment intents: what a client wants to be paid, and how far that has come.

use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::page::Page;
use crate::schema::{payment_intent, unix_now};

/// A stored intent.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = payment_intent)]
pub(crate) struct Intent {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: String,
    pub(crate) payment_method: Option<String>,
    pub(crate) latest_charge: Option<String>,
    pub(crate) decline_code: Option<String>,
    pub(crate) cancellation_reason: Option<String>,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) metadata: Value,
    pub(crate) created: i64,
}

/// An intent to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = payment_intent)]
pub(crate) struct NewIntent<'a> {
    pub(crate) id: &'a str,
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) status: &'static str,
    pub(crate) payment_method: Option<&'a str>,
    pub(crate) latest_charge: Option<&'a str>,
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) metadata: Value,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewIntent<'_>) -> Result<Intent> {
    let insert = diesel::insert_into(payment_intent::table).values(new).returning(Intent::as_returning());
    Ok(insert.get_result(tx).await?)
}

pub(crate) async fn find(connection: &mut Connection, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select());
    Ok(query.first(connection).await.optional()?)
}

/// The intent, with nobody else changing it until the end of the unit of work.
pub(crate) async fn locked(tx: &mut Tx, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select()).for_update();
    Ok(query.first(tx).await.optional()?)
}

/// Makes the intent one that can never be charged.
pub(crate) async fn cancel(tx: &mut Tx, id: &str, reason: Option<&str>) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id)).set((
        payment_intent::status.eq("canceled"),
        payment_intent::canceled_at.eq(unix_now().nullable()),
        payment_intent::cancellation_reason.eq(reason),
    ));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
}

/// One page, newest first, and one row more than it holds if there is one. `after` is a position.
pub(crate) async fn list(
    connection: &mut Connection,
    page: &Page,
    after: Option<i64>,
) -> Result<Vec<Intent>> {
    let mut query = payment_intent::table
        .filter(payment_intent::created.between(page.earliest, page.latest))
        .order(payment_intent::position.desc())
        .limit(page.limit + 1)
        .select(Intent::as_select())
        .into_boxed();
    if let Some(position) = after {
        query = query.filter(payment_intent::position.lt(position));
    }
    Ok(query.load(connection).await?)
}

/// Where the intent stands in lists.
pub(crate) async fn position(connection: &mut Connection, id: &str) -> Result<Option<i64>> {
    let query = payment_intent::table.find(id).select(payment_intent::position);
    Ok(query.first(connection).await.optional()?)
}
