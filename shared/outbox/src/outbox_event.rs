//! The table `outbox_event`: the statement that inserts rows, and the one that reads them by id.
//!
//! Rows are never updated. Retention drops whole partitions (module `retention`).

use std::mem::take;

use chrono::{DateTime, Utc};
use database::functions::statement_timestamp;
use database::{Buffered, InsertRows, Write};
use diesel::dsl::SqlTypeOf;
use diesel::pg::Pg;
use diesel::prelude::*;
use envelope::{Envelope, InvalidName, Timestamp};
use uuid::Uuid;

use crate::Destination;

diesel::table! {
    /// The database fills the column `xid`.
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

/// The columns of the table in the order of [`StoredEvent`], of a row with the alias `event`.
pub(crate) const COLUMNS: &str = "event.id, event.event_id, event.topic, event.partition_key, event.aggregate_id, \
     event.sequence, event.type, event.source, event.tenant_id, event.payload, event.traceparent, \
     event.created_at";

/// A row, as the relay reads it.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = outbox_event)]
pub(crate) struct StoredEvent {
    pub(crate) id: i64,
    pub(crate) event_id: Uuid,
    pub(crate) topic: String,
    pub(crate) partition_key: Uuid,
    pub(crate) aggregate_id: Uuid,
    pub(crate) sequence: i64,
    pub(crate) kind: String,
    pub(crate) source: String,
    pub(crate) tenant_id: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) traceparent: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
}

/// The SQL types of [`COLUMNS`].
pub(crate) type StoredColumns = SqlTypeOf<<StoredEvent as Selectable<Pg>>::SelectExpression>;

impl StoredEvent {
    /// Returns the message's envelope. Fails if the tenant's name in the row is invalid.
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

/// A row to insert. The unit of work inserts it with its other buffered rows.
pub(crate) struct NewEvent {
    pub(crate) event_id: Uuid,
    pub(crate) destination: Destination,
    pub(crate) sequence: i64,
    pub(crate) tenant_id: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) traceparent: Option<String>,
}

impl Buffered for NewEvent {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(outbox_event::table, rows)
            .column(outbox_event::event_id, |row| row.event_id)
            .column(outbox_event::topic, |row| take(&mut row.destination.topic))
            .column(outbox_event::partition_key, |row| row.destination.partition_key)
            .column(outbox_event::aggregate_type, |row| row.destination.aggregate_type)
            .column(outbox_event::aggregate_id, |row| row.destination.aggregate_id)
            .column(outbox_event::sequence, |row| row.sequence)
            .column(outbox_event::kind, |row| take(&mut row.destination.kind))
            .column(outbox_event::source, |row| row.destination.source)
            .column(outbox_event::tenant_id, |row| take(&mut row.tenant_id))
            .column(outbox_event::payload, |row| take(&mut row.payload))
            .column(outbox_event::traceparent, |row| row.traceparent.take())
            // The time of the rows that the same statement writes. `operator explain` sorts by it.
            .all(outbox_event::created_at, statement_timestamp());
        vec![Write::new(insert)]
    }
}
