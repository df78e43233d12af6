//! Balance transactions: every movement of the account's balance. INSERT only.

use std::mem::take;

use database::{Buffered, InsertRows, Result, Tx, Write};
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

impl Buffered for BalanceTransaction {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(balance_transaction::table, rows)
            .column(balance_transaction::id, |row| take(&mut row.id))
            .column(balance_transaction::kind, |row| take(&mut row.kind))
            .column(balance_transaction::source, |row| take(&mut row.source))
            .column(balance_transaction::amount, |row| row.amount)
            .column(balance_transaction::fee, |row| row.fee)
            .column(balance_transaction::net, |row| row.net)
            .column(balance_transaction::currency, |row| take(&mut row.currency))
            .column(balance_transaction::created, |row| row.created);
        vec![Write::new(insert)]
    }
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<BalanceTransaction>> {
    let query = balance_transaction::table.find(id).select(BalanceTransaction::as_select());
    Ok(query.first(tx).await.optional()?)
}
