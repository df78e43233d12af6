//! Payment intents: what a client wants to be paid, and how far that has come.

use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::protocol::page::{From, Page};
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
    pub(crate) capture_method: String,
    pub(crate) amount_received: i64,
    pub(crate) error_code: Option<String>,
    pub(crate) description: Option<String>,
}

/// An intent to be stored.
#[derive(Debug, Insertable)]
#[diesel(table_name = payment_intent)]
pub(crate) struct NewIntent<'a> {
    pub(crate) id: &'a str,
    pub(crate) amount: i64,
    pub(crate) currency: &'a str,
    pub(crate) capture_method: &'static str,
    pub(crate) description: Option<&'a str>,
    pub(crate) metadata: Value,
    #[diesel(embed)]
    pub(crate) standing: Standing<'a>,
}

/// How far an intent has come.
#[derive(Debug, Clone, Default, Insertable)]
#[diesel(table_name = payment_intent)]
pub(crate) struct Standing<'a> {
    pub(crate) status: &'static str,
    pub(crate) payment_method: Option<&'a str>,
    pub(crate) latest_charge: Option<&'a str>,
    pub(crate) amount_received: i64,
    pub(crate) error_code: Option<&'static str>,
    pub(crate) decline_code: Option<&'static str>,
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewIntent<'_>) -> Result<Intent> {
    let insert = diesel::insert_into(payment_intent::table).values(new).returning(Intent::as_returning());
    Ok(insert.get_result(tx).await?)
}

pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select());
    Ok(query.first(tx).await.optional()?)
}

pub(crate) async fn with_ids(tx: &mut Tx, ids: &[String]) -> Result<Vec<Intent>> {
    let query = payment_intent::table.filter(payment_intent::id.eq_any(ids));
    Ok(query.select(Intent::as_select()).load(tx).await?)
}

/// The intent, with nobody else changing it until the end of the unit of work.
pub(crate) async fn locked(tx: &mut Tx, id: &str) -> Result<Option<Intent>> {
    let query = payment_intent::table.find(id).select(Intent::as_select()).for_update();
    Ok(query.first(tx).await.optional()?)
}

/// Says how far the intent, which the caller has locked, has come.
pub(crate) async fn update(tx: &mut Tx, id: &str, standing: &Standing<'_>) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id)).set((
        payment_intent::status.eq(standing.status),
        payment_intent::payment_method.eq(standing.payment_method),
        payment_intent::latest_charge.eq(standing.latest_charge),
        payment_intent::amount_received.eq(standing.amount_received),
        payment_intent::error_code.eq(standing.error_code),
        payment_intent::decline_code.eq(standing.decline_code),
    ));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
}

/// The money has been taken.
pub(crate) async fn succeed(tx: &mut Tx, id: &str, amount: i64) -> Result<Intent> {
    let update = diesel::update(payment_intent::table.find(id))
        .set((payment_intent::status.eq("succeeded"), payment_intent::amount_received.eq(amount)));
    Ok(update.returning(Intent::as_returning()).get_result(tx).await?)
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

/// One row more than the page holds, if there is one, in the page's direction.
pub(crate) async fn list(tx: &mut Tx, page: &Page, from: From) -> Result<Vec<Intent>> {
    let query = payment_intent::table
        .filter(payment_intent::created.between(page.earliest, page.latest))
        .limit(page.limit + 1)
        .select(Intent::as_select())
        .into_boxed();
    let query = match from {
        From::Top => query.order(payment_intent::position.desc()),
        From::Below(at) => {
            query.filter(payment_intent::position.lt(at)).order(payment_intent::position.desc())
        }
        From::Above(at) => {
            query.filter(payment_intent::position.gt(at)).order(payment_intent::position.asc())
        }
    };
    Ok(query.load(tx).await?)
}

/// Where the intent stands in lists.
pub(crate) async fn position(tx: &mut Tx, id: &str) -> Result<Option<i64>> {
    let query = payment_intent::table.find(id).select(payment_intent::position);
    Ok(query.first(tx).await.optional()?)
}
