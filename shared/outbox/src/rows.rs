//! The log's table: the one statement that writes to it, and how its rows are read.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use contracts::{Envelope, InvalidName, Timestamp};
use database::{Buffered, Database, Error, Insert, Rows};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{BigInt, Binary, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

diesel::table! {
    /// `xid` is left to the database: see the relay's window.
    outbox_event (id) {
        id -> BigInt,
        event_id -> Uuid,
        topic -> Text,
        partition_key -> Uuid,
        aggregate_type -> Text,
        aggregate_id -> Uuid,
        sequence -> BigInt,
        #[sql_name = "type"]
        kind -> Text,
        source -> Text,
        tenant_id -> Text,
        payload -> Binary,
        traceparent -> Nullable<Text>,
        created_at -> Timestamptz,
    }
}

/// A row as the relay reads it.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
pub(crate) struct StoredEvent {
    pub(crate) id: i64,
    event_id: Uuid,
    pub(crate) topic: String,
    pub(crate) partition_key: Uuid,
    aggregate_id: Uuid,
    sequence: i64,
    kind: String,
    source: String,
    tenant_id: String,
    pub(crate) payload: Vec<u8>,
    traceparent: Option<String>,
    created_at: DateTime<Utc>,
}

impl StoredEvent {
    /// The headers it travels with.
    pub(crate) fn envelope(&self) -> Result<Envelope, InvalidName> {
        Ok(Envelope {
            id: self.event_id.into(),
            kind: self.kind.clone(),
            source: self.source.clone(),
            aggregate: self.aggregate_id,
            sequence: self.sequence,
            time: Timestamp::from_rfc3339(database::time::to_rfc3339(self.created_at)),
            tenant: self.tenant_id.parse()?,
            traceparent: self.traceparent.clone(),
        })
    }
}

/// The rows of these ids, in the order of their ids.
pub(crate) async fn by_ids(database: &Database, ids: &[i64]) -> Result<Vec<StoredEvent>, Error> {
    let mut connection = database.connection().await?;
    let rows = outbox_event::table
        .filter(outbox_event::id.eq_any(ids))
        .order(outbox_event::id)
        .select(StoredEvent::as_select())
        .load(&mut connection)
        .await?;
    Ok(rows)
}

/// An event on its way into the log.
pub(crate) struct NewEvent {
    pub(crate) event_id: Uuid,
    pub(crate) topic: String,
    pub(crate) partition_key: Uuid,
    pub(crate) aggregate_type: &'static str,
    pub(crate) aggregate_id: Uuid,
    pub(crate) sequence: i64,
    pub(crate) kind: Cow<'static, str>,
    pub(crate) source: &'static str,
    pub(crate) tenant_id: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) traceparent: Option<String>,
}

impl Buffered for NewEvent {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        vec![Insert::new(InsertEvents::of(rows))]
    }
}

/// One statement for any number of events.
#[derive(Default)]
struct InsertEvents {
    event_id: Vec<Uuid>,
    topic: Vec<String>,
    partition_key: Vec<Uuid>,
    aggregate_type: Vec<&'static str>,
    aggregate_id: Vec<Uuid>,
    sequence: Vec<i64>,
    kind: Vec<Cow<'static, str>>,
    source: Vec<&'static str>,
    tenant_id: Vec<String>,
    payload: Vec<Vec<u8>>,
    traceparent: Vec<Option<String>>,
}

impl InsertEvents {
    fn of(rows: Vec<NewEvent>) -> Self {
        let mut insert = Self::default();
        for row in rows {
            insert.event_id.push(row.event_id);
            insert.topic.push(row.topic);
            insert.partition_key.push(row.partition_key);
            insert.aggregate_type.push(row.aggregate_type);
            insert.aggregate_id.push(row.aggregate_id);
            insert.sequence.push(row.sequence);
            insert.kind.push(row.kind);
            insert.source.push(row.source);
            insert.tenant_id.push(row.tenant_id);
            insert.payload.push(row.payload);
            insert.traceparent.push(row.traceparent);
        }
        insert
    }
}

impl QueryFragment<Pg> for InsertEvents {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, \
             type, source, tenant_id, payload, traceparent) SELECT * FROM ",
        );
        Rows::of(self.event_id.len(), out.reborrow())
            .column::<SqlUuid, _>(&self.event_id)?
            .column::<Text, _>(&self.topic)?
            .column::<SqlUuid, _>(&self.partition_key)?
            .column::<Text, _>(&self.aggregate_type)?
            .column::<SqlUuid, _>(&self.aggregate_id)?
            .column::<BigInt, _>(&self.sequence)?
            .column::<Text, _>(&self.kind)?
            .column::<Text, _>(&self.source)?
            .column::<Text, _>(&self.tenant_id)?
            .column::<Binary, _>(&self.payload)?
            .column::<Nullable<Text>, _>(&self.traceparent)?
            .end();
        out.push_sql(" AS event");
        Ok(())
    }
}
