//! What the relay has published, by its cursor: nothing else may be sent again, as what waits for the relay would
//! come ahead of its turn.

use std::fmt;

use chrono::{DateTime, Utc};
use clap::Args;
use database::time::{from_rfc3339, to_rfc3339};
use database::{Database, Result};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use crate::relay::Cursor;
use crate::rows::outbox_event;

/// How many ids are looked through by one statement: each is short, however long the log is.
const STRIDE: i64 = 50_000;

/// Which rows are wanted: one of the two.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Wanted {
    /// All that was told since this moment (RFC 3339, as in 2026-11-20T08:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// All that was told about this aggregate
    #[arg(long, value_name = "UUID")]
    pub(super) aggregate: Option<Uuid>,
}

fn moment(text: &str) -> std::result::Result<DateTime<Utc>, &'static str> {
    from_rfc3339(text).ok_or("it is not RFC 3339, as in 2026-11-20T08:00:00Z")
}

/// The moment, or the aggregate's id.
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aggregate = self.aggregate.map(|id| id.to_string());
        f.write_str(&aggregate.or(self.since.map(to_rfc3339)).unwrap_or_default())
    }
}

/// The wanted rows among the published ones. Fixed when it is made: what the relay publishes meanwhile is not in it.
pub(super) struct Published {
    database: Database,
    wanted: Wanted,
    cursor: Cursor,
    /// The ids of the log: (first, last). None if it is empty.
    range: Option<(i64, i64)>,
    /// When the log's first row was written: older ones have expired.
    pub(super) oldest: Option<DateTime<Utc>>,
}

/// The first of them.
#[derive(Serialize, Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
pub(super) struct First {
    pub(super) id: i64,
    /// In the history of its aggregate.
    pub(super) sequence: i64,
    #[serde(skip)]
    pub(super) tenant_id: String,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

impl Published {
    pub(super) async fn find(database: &Database, wanted: &Wanted) -> Result<Self> {
        use outbox_event as event;
        let cursor = Cursor::load(database).await?;
        let mut connection = database.connection().await?;
        let first = event::table.order(event::id).select((event::id, event::created_at));
        let first: Option<(i64, DateTime<Utc>)> = first.first(&mut connection).await.optional()?;
        let last = event::table.order(event::id.desc()).select(event::id);
        let last: Option<i64> = last.first(&mut connection).await.optional()?;
        let range = first.map(|(id, _)| id).zip(last);
        let (database, wanted) = (database.clone(), wanted.clone());
        Ok(Self { database, wanted, cursor, range, oldest: first.map(|(_, written)| written) })
    }

    /// Where they are.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Where each statement begins: after these ids, in order.
    pub(super) fn strides(&self) -> impl Iterator<Item = i64> + use<> {
        let (first, last) = self.range.unwrap_or((1, 0));
        std::iter::successors(Some(first - 1), |after| Some(after + STRIDE))
            .take_while(move |after| *after < last)
    }

    /// The ids of one stride, in order.
    pub(super) async fn ids(&self, after: i64) -> Result<Vec<i64>> {
        const IDS: &str = "\
            SELECT id FROM outbox_event \
             WHERE id > $1 AND id <= $2 \
               AND (pg_visible_in_snapshot(xid, $3::pg_snapshot) \
                    OR (coalesce(pg_visible_in_snapshot(xid, $4::pg_snapshot), false) AND id <= $5)) \
               AND ($6 IS NULL OR created_at >= $6) AND ($7 IS NULL OR aggregate_id = $7) \
             ORDER BY id";
        let mut connection = self.database.connection().await?;
        let ids: Vec<Id> = sql_query(IDS)
            .bind::<BigInt, _>(after)
            .bind::<BigInt, _>(after.saturating_add(STRIDE))
            .bind::<Text, _>(&self.cursor.snapshot_a)
            .bind::<Nullable<Text>, _>(&self.cursor.snapshot_b)
            .bind::<BigInt, _>(self.cursor.last_id)
            .bind::<Nullable<Timestamptz>, _>(self.wanted.since)
            .bind::<Nullable<SqlUuid>, _>(self.wanted.aggregate)
            .get_results(&mut connection)
            .await?;
        Ok(ids.into_iter().map(|row| row.id).collect())
    }

    /// What is to be known of the first row.
    pub(super) async fn first(&self, id: i64) -> Result<Option<First>> {
        let mut connection = self.database.connection().await?;
        let row = outbox_event::table.filter(outbox_event::id.eq(id)).select(First::as_select());
        Ok(row.first(&mut connection).await.optional()?)
    }
}
