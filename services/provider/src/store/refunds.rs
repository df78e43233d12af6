//! Refunds: money given back from a charge.

use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::page::Page;
use crate::schema::refund;

/// A stored refund.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = refund)]
pub(crate) struct Refund {
    pub(crate) id: String,
    pub(crate) charge: String,
    pub(crate) payment_intent: String,
    pub(crate) amount: i64,
    pub(crate) currency: String,
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) metadata: Value,
    pub(crate) created: i64,
}

/// A refund to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = refund)]
pub(crate) struct NewRefund<'a> {
    pub(crate) id: &'a str,
    pub(crate) charge: &'a str,
    pub(crate) payment_intent: &'a str,
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<&'a str>,
    pub(crate) metadata: Value,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewRefund<'_>) -> Result<Refund> {
    let insert = diesel::insert_into(refund::table).values(new).returning(Refund::as_returning());
    Ok(insert.get_result(tx).await?)
}

pub(crate) async fn find(connection: &mut Connection, id: &str) -> Result<Option<Refund>> {
    Ok(refund::table.find(id).select(Refund::as_select()).first(connection).await.optional()?)
}

/// One page, newest first, and one row more than it holds if there is one. `after` is a position.
pub(crate) async fn list(
    connection: &mut Connection,
    page: &Page,
    after: Option<i64>,
    intent: Option<&str>,
) -> Result<Vec<Refund>> {
    let mut query = refund::table
        .filter(refund::created.between(page.earliest, page.latest))
        .order(refund::position.desc())
        .limit(page.limit + 1)
        .select(Refund::as_select())
        .into_boxed();
    if let Some(position) = after {
        query = query.filter(refund::position.lt(position));
    }
    if let Some(intent) = intent {
        query = query.filter(refund::payment_intent.eq(intent));
    }
    Ok(query.load(connection).await?)
}

/// Where the refund stands in lists.
pub(crate) async fn position(connection: &mut Connection, id: &str) -> Result<Option<i64>> {
    Ok(refund::table.find(id).select(refund::position).first(connection).await.optional()?)
}
