//! Charges: one row for each attempt to charge a card.

use database::{Result, Tx};
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

/// A charge to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = charge)]
pub(crate) struct NewCharge<'a> {
    pub(crate) id: &'a str,
    pub(crate) payment_intent: &'a str,
    pub(crate) amount: i64,
    pub(crate) amount_captured: i64,
    pub(crate) currency: &'a str,
    pub(crate) payment_method: &'a str,
    pub(crate) status: &'static str,
    pub(crate) decline_code: Option<&'static str>,
    pub(crate) balance_transaction: Option<&'a str>,
    pub(crate) metadata: &'a Value,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewCharge<'_>) -> Result<()> {
    diesel::insert_into(charge::table).values(new).execute(tx).await?;
    Ok(())
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
pub(crate) async fn decline(tx: &mut Tx, id: &str, decline_code: Option<&str>) -> Result<()> {
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
