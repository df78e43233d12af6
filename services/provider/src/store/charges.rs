//! Charges: each time that a card was asked for money, paid or not.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::schema::charge;

/// A stored charge that was paid.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = charge)]
pub(crate) struct Charge {
    pub(crate) id: String,
    pub(crate) amount: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) currency: String,
}

/// A charge to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = charge)]
pub(crate) struct NewCharge<'a> {
    pub(crate) id: &'a str,
    pub(crate) payment_intent: &'a str,
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) payment_method: &'a str,
    pub(crate) status: &'static str,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewCharge<'_>) -> Result<()> {
    diesel::insert_into(charge::table).values(new).execute(tx).await?;
    Ok(())
}

/// The intent's paid charge, with nobody else refunding it until the end of the unit of work.
pub(crate) async fn locked(tx: &mut Tx, intent: &str) -> Result<Option<Charge>> {
    let query = charge::table
        .filter(charge::payment_intent.eq(intent))
        .filter(charge::status.eq("succeeded"))
        .select(Charge::as_select())
        .for_update();
    Ok(query.first(tx).await.optional()?)
}

/// Counts a refund on its charge, which the caller has locked.
pub(crate) async fn count_refund(tx: &mut Tx, id: &str, amount: i64) -> Result<()> {
    let counted = charge::amount_refunded.eq(charge::amount_refunded + amount);
    diesel::update(charge::table.find(id)).set(counted).execute(tx).await?;
    Ok(())
}
