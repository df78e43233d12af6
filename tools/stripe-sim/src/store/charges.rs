//! Charges: one row for each attempt to charge a card.

use std::mem::take;

use database::{Buffered, InsertRows, Result, Tx, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::schema::charge;

/// A stored charge.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = charge)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) payment_intent: String,
    pub(crate) amount: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) currency: String,
    pub(crate) payment_method: String,
    pub(crate) status: String,
    pub(crate) created: i64,
    pub(crate) amount_captured: i64,
    pub(crate) decline_code: Option<String>,
    pub(crate) balance_transaction: Option<String>,
    pub(crate) metadata: Value,
}

impl Buffered for Charge {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(charge::table, rows)
            .column(charge::id, |row| take(&mut row.id))
            .column(charge::payment_intent, |row| take(&mut row.payment_intent))
            .column(charge::amount, |row| row.amount)
            .column(charge::amount_captured, |row| row.amount_captured)
            .column(charge::currency, |row| take(&mut row.currency))
            .column(charge::payment_method, |row| take(&mut row.payment_method))
            .column(charge::status, |row| take(&mut row.status))
            .column(charge::created, |row| row.created)
            .column(charge::decline_code, |row| row.decline_code.take())
            .column(charge::balance_transaction, |row| row.balance_transaction.take())
            .column(charge::metadata, |row| row.metadata.take());
        vec![Write::new(insert)]
    }
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Charge>> {
    Ok(charge::table.find(id).select(Charge::as_select()).first(tx).await.optional()?)
}

/// The captured charge of the payment intent, locked.
pub(crate) async fn locked(tx: &mut Tx, intent: &str) -> Result<Option<Charge>> {
    let query = charge::table
        .filter(charge::payment_intent.eq(intent))
        .filter(charge::amount_captured.gt(0))
        .select(Charge::as_select())
        .for_update();
    Ok(query.first(tx).await.optional()?)
}

/// Captures the amount. The caller has locked the payment intent.
pub(crate) async fn capture(tx: &mut Tx, id: &str, amount: i64, movement: &str) -> Result<()> {
    let update = diesel::update(charge::table.find(id)).set((
        charge::status.eq("succeeded"),
        charge::amount_captured.eq(amount),
        charge::balance_transaction.eq(movement),
    ));
    update.execute(tx).await?;
    Ok(())
}

/// Declines a pending charge. The caller has locked the payment intent.
pub(crate) async fn decline(tx: &mut Tx, id: &str, decline_code: &str) -> Result<()> {
    let update = diesel::update(charge::table.find(id))
        .set((charge::status.eq("failed"), charge::decline_code.eq(decline_code)));
    update.execute(tx).await?;
    Ok(())
}

/// Adds a refund to the refunded amount; a negative amount is a returned refund. The caller has locked the charge.
pub(crate) async fn count_refund(tx: &mut Tx, id: &str, amount: i64) -> Result<Charge> {
    let counted = charge::amount_refunded.eq(charge::amount_refunded + amount);
    let update = diesel::update(charge::table.find(id)).set(counted).returning(Charge::as_returning());
    Ok(update.get_result(tx).await?)
}
