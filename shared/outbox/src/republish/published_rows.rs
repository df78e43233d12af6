//! The published rows that an operator selects.
//!
//! A row is published if the relay's cursor has passed it and it is not blocked. Other rows are never selected: the relay will
//! publish them, and `republish` would publish them out of order. This module only reads.

use chrono::{DateTime, Utc};
use database::{Database, Result};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use crate::outbox_event::{StoredEvent, load_events, outbox_event};

/// The number of ids that one statement examines. It keeps each statement short in an outbox of any size.
const IDS_PER_READ: u16 = 50_000;

/// Which published events.
#[derive(Debug, Clone, Copy)]
pub enum PublishedEvents {
    /// Every one since this time.
    Since(DateTime<Utc>),
    /// Every one of this aggregate.
    Aggregate(Uuid),
}

/// The selected rows that were published at the time of [`find`](Self::find). Later rows are not included.
pub(super) struct PublishedRows {
    database: Database,
    pub(super) events: PublishedEvents,
    /// The relay's cursor, as text of its row.
    cursor: String,
    /// The first and the last id of the outbox; `None` if it is empty.
    id_range: Option<(i64, i64)>,
    /// The time of the first row of the outbox.
    pub(super) oldest: Option<DateTime<Utc>>,
}

/// The first selected row.
#[derive(Debug, Serialize, Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
pub struct FirstRow {
    /// Its id.
    pub id: i64,
    /// Its number among the events of its aggregate.
    pub sequence: i64,
    #[serde(skip)]
    pub(super) tenant_id: String,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    cursor: String,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

impl PublishedRows {
    pub(super) async fn find(database: &Database, events: PublishedEvents) -> Result<Self> {
        use outbox_event as event;
        let mut connection = database.connection().await?;
        let cursor: Row = sql_query("SELECT relay::text AS cursor FROM outbox_cursor AS relay")
            .get_result(&mut connection)
            .await?;
        let first = event::table.order(event::id).select((event::id, event::created_at));
        let first: Option<(i64, DateTime<Utc>)> = first.first(&mut connection).await.optional()?;
        let last = event::table.order(event::id.desc()).select(event::id);
        let last: Option<i64> = last.first(&mut connection).await.optional()?;
        let id_range = first.map(|(id, _)| id).zip(last);
        let oldest = first.map(|(_, created_at)| created_at);
        Ok(Self { database: database.clone(), events, cursor: cursor.cursor, id_range, oldest })
    }

    /// Returns the arguments for [`ids_after`](Self::ids_after) that together cover the outbox, in order.
    pub(super) fn read_positions(&self) -> impl Iterator<Item = i64> + use<> {
        let ranges = self.id_range.into_iter();
        ranges.flat_map(|(first, last)| (first - 1..last).step_by(usize::from(IDS_PER_READ)))
    }

    /// Returns the selected ids among the [`IDS_PER_READ`] ids that follow `position`, in order.
    pub(super) async fn ids_after(&self, position: i64) -> Result<Vec<i64>> {
        const IDS: &str = "\
            SELECT id FROM outbox_event AS event \
             WHERE id > $1 AND id <= $2 \
               AND outbox_is_published($3::outbox_cursor, xid, id) \
               AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id) \
               AND ($4 IS NULL OR created_at >= $4) AND ($5 IS NULL OR aggregate_id = $5) \
             ORDER BY id";
        let (since, aggregate) = match self.events {
            PublishedEvents::Since(time) => (Some(time), None),
            PublishedEvents::Aggregate(id) => (None, Some(id)),
        };
        let mut connection = self.database.connection().await?;
        let ids: Vec<Id> = sql_query(IDS)
            .bind::<BigInt, _>(position)
            .bind::<BigInt, _>(position.saturating_add(i64::from(IDS_PER_READ)))
            .bind::<Text, _>(&self.cursor)
            .bind::<Nullable<Timestamptz>, _>(since)
            .bind::<Nullable<SqlUuid>, _>(aggregate)
            .get_results(&mut connection)
            .await?;
        Ok(ids.into_iter().map(|row| row.id).collect())
    }

    pub(super) async fn load(&self, ids: &[i64]) -> Result<Vec<StoredEvent>> {
        load_events(&self.database, ids).await
    }

    pub(super) async fn find_first(&self, id: i64) -> Result<Option<FirstRow>> {
        let mut connection = self.database.connection().await?;
        let row = outbox_event::table.filter(outbox_event::id.eq(id)).select(FirstRow::as_select());
        Ok(row.first(&mut connection).await.optional()?)
    }
}
