//! Balance transactions: every movement of the account's balance. INSERT only.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::balance_transaction;

/// A stored balance transaction.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = balance_transaction)]
pub(crate) struct BalanceTransaction {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
    pub(crate) net: i64,
    pub(crate) currency: String,
    pub(crate) created: i64,
}

/// A balance transaction to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = balance_transaction)]
pub(crate) struct NewBalanceTransaction<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) source: &'a str,
    pub(crate) amount: i64,
    pub(crate) fee: i64,
    pub(crate) net: i64,
    pub(crate) currency: &'a str,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewBalanceTransaction<'_>) -> Result<()> {
    diesel::insert_into(balance_transaction::table).values(new).execute(tx).await?;
    Ok(())
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<BalanceTransaction>> {
    let query = balance_transaction::table.find(id).select(BalanceTransaction::as_select());
    Ok(query.first(tx).await.optional()?)
}
