//! Refunds of charges.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::protocol::Page;
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
    pub(crate) failure_reason: Option<String>,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) failure_balance_transaction: Option<String>,
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
    pub(crate) balance_transaction: Option<&'a str>,
    pub(crate) metadata: Value,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewRefund<'_>) -> Result<Refund> {
    let insert = diesel::insert_into(refund::table).values(new).returning(Refund::as_returning());
    Ok(insert.get_result(tx).await?)
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Refund>> {
    Ok(refund::table.find(id).select(Refund::as_select()).first(tx).await.optional()?)
}

/// Completes a pending refund.
pub(crate) async fn succeed(tx: &mut Tx, id: &str, movement: &str) -> Result<Refund> {
    let update = diesel::update(refund::table.find(id))
        .set((refund::status.eq("succeeded"), refund::balance_transaction.eq(movement)));
    Ok(update.returning(Refund::as_returning()).get_result(tx).await?)
}

/// Fails a refund. `movement` is the balance transaction of a returned one.
pub(crate) async fn fail(tx: &mut Tx, id: &str, reason: &str, movement: Option<&str>) -> Result<Refund> {
    let update = diesel::update(refund::table.find(id)).set((
        refund::status.eq("failed"),
        refund::failure_reason.eq(reason),
        refund::failure_balance_transaction.eq(movement),
    ));
    Ok(update.returning(Refund::as_returning()).get_result(tx).await?)
}

/// One row more than the page holds, if there is one, below the position, newest first; of one payment intent, or of all.
pub(crate) async fn list(tx: &mut Tx, page: &Page, below: i64, intent: Option<&str>) -> Result<Vec<Refund>> {
    let mut query = refund::table
        .filter(refund::created.between(page.earliest, page.latest))
        .filter(refund::position.lt(below))
        .order(refund::position.desc())
        .limit(page.limit + 1)
        .select(Refund::as_select())
        .into_boxed();
    if let Some(intent) = intent {
        query = query.filter(refund::payment_intent.eq(intent));
    }
    Ok(query.load(tx).await?)
}

/// The position of the refund in lists.
pub(crate) async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
    Ok(refund::table.find(id).select(refund::position).first(tx).await.optional()?)
}
