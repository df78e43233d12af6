//! Compares the processor's list with our records (`compare.sql`), and stores the time until which everything was compared (table
//! `reconciliation`).

use std::ops::Range;

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::functions::clock_timestamp;
use database::{Connection, Result, unreadable};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Array, Jsonb, Text, Timestamptz};
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::VariantArray;
use uuid::Uuid;

use crate::domain::CallKind;
use crate::schema::reconciliation;

/// The result of comparing one object or record, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Both sides agree.
    Matched,
    /// Both sides are open, or a worker is just writing ours.
    Pending,
    /// The object is unknown here and younger than the grace period.
    Young,
    /// The object belongs to another deployment.
    Foreign,
    /// An operator has resolved the difference.
    Accepted,
    /// One side is ahead of the other. A lookup decides.
    Unsettled,
    /// The processor says that money moved, and our record denies it.
    Denied,
    /// The processor moved money for this deployment, and no row here requested it.
    MissingHere,
    /// Our record says that money moved, and the processor's does not.
    MissingThere,
    /// Both sides say that money moved, but they name different amounts.
    AmountDiffers,
}

/// An object of the processor, a record of ours, or both, with the verdict.
///
/// Their JSON is the observation of a review. A resolved difference is recognised by it, so another member would open it again.
#[derive(Debug, Deserialize)]
pub(crate) struct Compared {
    pub(crate) verdict: Verdict,
    pub(crate) theirs: Option<ProcessorRecord>,
    pub(crate) ours: Option<OurRecord>,
}

/// A `PaymentIntent` or a refund, as the processor lists it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProcessorRecord {
    pub(crate) kind: String,
    pub(crate) processor_id: String,
    /// Its metadata names this deployment.
    #[serde(skip_serializing)]
    pub(crate) is_tagged: bool,
    /// The id of our payment or refund, if the object is tagged and the reference is an id.
    pub(crate) reference: Option<Uuid>,
    /// Of a refund.
    pub(crate) payment_intent: Option<String>,
    /// Minor units.
    pub(crate) amount: i64,
    pub(crate) currency: String,
    /// It has moved no money, and never will.
    #[serde(skip_serializing)]
    pub(crate) is_without_effect: bool,
    /// Of an orphan: the part that was given back at the processor.
    #[serde(skip)]
    pub(crate) refunded: i64,
}

/// A payment or refund, as our tables hold it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OurRecord {
    #[serde(skip_serializing)]
    pub(crate) id: Uuid,
    #[serde(skip_serializing)]
    pub(crate) payment_id: PaymentId,
    #[serde(skip_serializing)]
    pub(crate) tenant_id: TenantId,
    /// Minor units.
    pub(crate) amount: i64,
    pub(crate) currency: String,
    /// The processor's id of the object, if it is known.
    pub(crate) processor_id: Option<String>,
    /// The request was sent in the window of the page.
    #[serde(skip_serializing)]
    pub(crate) is_in_window: bool,
    /// The processor must list an object of it.
    #[serde(skip_serializing)]
    pub(crate) needs_object: bool,
}

/// A comparison of the processor's lists with our records.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    /// Our deployment.
    pub(crate) deployment: &'a str,
    /// The compared period. It ends before the lists are read, so records that change later need not be in the lists.
    pub(crate) period: Range<DateTime<Utc>>,
    /// Objects that were created after this time may be unknown here.
    pub(crate) young_since: DateTime<Utc>,
}

impl Comparison<'_> {
    /// Compares a page with the records that its objects refer to, and with those that were sent in its window. `orphans` are the
    /// processor's ids of the charges that no record here requested.
    ///
    /// The caller reads the page first. Because a call is committed before its request is sent, our tables then have the record of
    /// each object.
    pub(crate) async fn page(
        &self,
        connection: &mut Connection,
        kind: CallKind,
        page: Value,
        window: &Range<DateTime<Utc>>,
        orphans: Vec<&String>,
    ) -> Result<Vec<Compared>> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = Text)]
            row: String,
        }
        let rows: Vec<Row> = sql_query(include_str!("compare.sql"))
            .bind::<Text, _>(kind)
            .bind::<Jsonb, _>(page)
            .bind::<Text, _>(self.deployment)
            .bind::<Array<Text>, _>(orphans)
            .bind::<Timestamptz, _>(self.period.start)
            .bind::<Timestamptz, _>(self.period.end)
            .bind::<Timestamptz, _>(window.start)
            .bind::<Timestamptz, _>(window.end)
            .bind::<Timestamptz, _>(self.young_since)
            .load(connection)
            .await?;
        let compared = rows.into_iter().map(|Row { row }| serde_json::from_str(&row));
        compared.collect::<serde_json::Result<_>>().map_err(|_| unreadable("a row of compare.sql"))
    }
}

/// Returns the database's clock.
pub(crate) async fn now(connection: &mut Connection) -> Result<DateTime<Utc>> {
    Ok(diesel::select(clock_timestamp()).get_result(connection).await?)
}

/// Returns the time until which everything was compared; `None` before the first reconciliation.
pub(crate) async fn compared_until(connection: &mut Connection) -> Result<Option<DateTime<Utc>>> {
    Ok(reconciliation::table.select(reconciliation::compared_until).first(connection).await?)
}

/// Stores the time until which everything was compared. It never goes back.
pub(crate) async fn set_compared_until(connection: &mut Connection, until: DateTime<Utc>) -> Result<()> {
    let is_later = reconciliation::compared_until.is_null().or(reconciliation::compared_until.lt(until));
    let set = reconciliation::compared_until.eq(until);
    diesel::update(reconciliation::table.filter(is_later)).set(set).execute(connection).await?;
    Ok(())
}
