//! The balance: what every charge and refund did to it. Rows are only ever added.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::balance_transaction;

/// A stored movement.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = balance_transaction)]
pub(crate) struct Movement {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
    pub(crate) net: i64,
    pub(crate) currency: String,
    pub(crate) created: i64,
}

/// A movement to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = balance_transaction)]
pub(crate) struct NewMovement<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) source: &'a str,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
    pub(crate) net: i64,
    pub(crate) currency: &'a str,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewMovement<'_>) -> Result<()> {
    diesel::insert_into(balance_transaction::table).values(new).execute(tx).await?;
    Ok(())
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Movement>> {
    let query = balance_transaction::table.find(id).select(Movement::as_select());
    Ok(query.first(tx).await.optional()?)
}

pub(crate) async fn with_ids(tx: &mut Tx, ids: &[String]) -> Result<Vec<Movement>> {
    let query = balance_transaction::table.filter(balance_transaction::id.eq_any(ids));
    Ok(query.select(Movement::as_select()).load(tx).await?)
}
