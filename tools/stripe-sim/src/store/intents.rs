//! Payment intents.

use std::mem::take;

use database::{Buffered, InsertRows, Result, Tx, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::protocol::Page;
use crate::schema::{payment_intent, unix_now};

/// A stored payment intent.
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
    pub(crate) capture_method: String,
    pub(crate) amount_received: i64,
}

impl Buffered for Intent {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(payment_intent::table, rows)
            .column(payment_intent::id, |row| take(&mut row.id))
            .column(payment_intent::amount, |row| row.amount)
            .column(payment_intent::currency, |row| take(&mut row.currency))
            .column(payment_intent::status, |row| take(&mut row.status))
            .column(payment_intent::payment_method, |row| row.payment_method.take())
            .column(payment_intent::latest_charge, |row| row.latest_charge.take())
            .column(payment_intent::decline_code, |row| row.decline_code.take())
            .column(payment_intent::metadata, |row| row.metadata.take())
            .column(payment_intent::created, |row| row.created)
            .column(payment_intent::capture_method, |row| take(&mut row.capture_method))
            .column(payment_intent::amount_received, |row| row.amount_received);
        vec![Write::new(insert)]
    }
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select());
    Ok(query.first(tx).await.optional()?)
}

/// The payment intent, locked.
pub(crate) async fn locked(tx: &mut Tx, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select()).for_update();
    Ok(query.first(tx).await.optional()?)
}

/// Marks the payment intent as declined, and removes its card: it needs another one. The caller has locked it.
pub(crate) async fn decline(tx: &mut Tx, id: &str, decline_code: &str) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id)).set((
        payment_intent::status.eq("requires_payment_method"),
        payment_intent::payment_method.eq(None::<String>),
        payment_intent::decline_code.eq(decline_code),
    ));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
}

/// Marks the payment intent as paid.
pub(crate) async fn succeed(tx: &mut Tx, id: &str, amount: i64) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id))
        .set((payment_intent::status.eq("succeeded"), payment_intent::amount_received.eq(amount)));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
}

/// Cancels the payment intent.
pub(crate) async fn cancel(tx: &mut Tx, id: &str, reason: Option<&str>) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id)).set((
        payment_intent::status.eq("canceled"),
        payment_intent::canceled_at.eq(unix_now().nullable()),
        payment_intent::cancellation_reason.eq(reason),
    ));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
}

/// One row more than the page holds, if there is one, below the position, newest first.
pub(crate) async fn list(tx: &mut Tx, page: &Page, below: i64) -> Result<Vec<Intent>> {
    let query = payment_intent::table
        .filter(payment_intent::created.between(page.earliest, page.latest))
        .filter(payment_intent::position.lt(below))
        .order(payment_intent::position.desc())
        .limit(page.limit + 1)
        .select(Intent::as_select());
    Ok(query.load(tx).await?)
}

/// The position of the payment intent in lists.
pub(crate) async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
    let query = payment_intent::table.find(id).select(payment_intent::position);
    Ok(query.first(tx).await.optional()?)
}
