//! `KeyRecord`: the records of a key, as their own caller may see them.

use chrono::{DateTime, Utc};
use database::{Connection, Result};
use diesel::QueryableByName;
use diesel::result::Error::DeserializationError;
use diesel::sql_types::{Bool, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use envelope::{Caller, OperationId};
use serde_json::Value;
use uuid::Uuid;

use crate::keyed_request::key_digest;
use crate::{Key, RecordState};

/// One operation of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The same id in the record, the events and the audit fact.
    pub operation: OperationId,
    /// `POST`
    pub method: String,
    /// The route's template.
    pub route: String,
    /// The record's state; [`RecordState::Expired`] when the response is no longer replayed.
    pub state: RecordState,
    /// The HTTP status of the response, if there is one.
    pub status: Option<u16>,
    /// When the key was first used.
    pub created_at: DateTime<Utc>,
    /// When the response was stored.
    pub completed_at: Option<DateTime<Utc>>,
    /// Until when the response is replayed.
    pub expires_at: Option<DateTime<Utc>>,
    /// The response's `Location`, as long as the response is replayed.
    pub location: Option<String>,
}

/// Finds the caller's routes first, by one step through the index for each, then the key on each route. Because the
/// primary key ends with `key`, a direct search would read all records of the caller. A second index would have to be
/// written by every command. Tombstones are found by one step through the index of each partition.
const RECORDS: &str = "
    WITH RECURSIVE used AS (
        (SELECT method, route FROM idempotency_record
          WHERE tenant_id = $1 AND client_id = $2
          ORDER BY method, route LIMIT 1)
        UNION ALL
        SELECT next.method, next.route FROM used CROSS JOIN LATERAL (
            SELECT record.method, record.route FROM idempotency_record record
             WHERE record.tenant_id = $1 AND record.client_id = $2
               AND (record.method, record.route) > (used.method, used.route)
             ORDER BY record.method, record.route LIMIT 1) next
    )
    SELECT record.operation_id, record.method, record.route, record.state, record.status, record.created_at,
           record.completed_at, record.expires_at, snapshot.headers,
           coalesce(record.expires_at <= clock_timestamp(), false) OR snapshot.operation_id IS NULL AS is_expired
      FROM used
      JOIN idempotency_record record USING (method, route)
      LEFT JOIN idempotency_snapshot snapshot USING (operation_id)
     WHERE record.tenant_id = $1 AND record.client_id = $2 AND record.key = $3
    UNION ALL
    SELECT operation_id, method, route, 'expired', status, created_at, completed_at, expires_at, NULL, true
      FROM idempotency_tombstone
     WHERE key_digest = $4 AND tombstone_until > clock_timestamp()
     ORDER BY created_at, operation_id";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    operation_id: Uuid,
    #[diesel(sql_type = Text)]
    method: String,
    #[diesel(sql_type = Text)]
    route: String,
    #[diesel(sql_type = Text)]
    state: RecordState,
    #[diesel(sql_type = Nullable<Integer>)]
    status: Option<i32>,
    #[diesel(sql_type = Timestamptz)]
    created_at: DateTime<Utc>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    completed_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    expires_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    headers: Option<Value>,
    #[diesel(sql_type = Bool)]
    is_expired: bool,
}

/// Finds the records of this caller's key on all routes, oldest first. Records of other callers are not visible.
///
/// A command in one transaction has no record until it has committed.
///
/// # Errors
/// Database errors.
pub async fn records_of(connection: &mut Connection, caller: &Caller, key: &Key) -> Result<Vec<KeyRecord>> {
    let query = diesel::sql_query(RECORDS)
        .bind::<Text, _>(caller.tenant.as_str())
        .bind::<Text, _>(caller.client.as_str())
        .bind::<Text, _>(key.as_str())
        .bind::<SqlUuid, _>(key_digest(caller, key));
    let rows: Vec<Row> = query.get_results(connection).await?;
    rows.into_iter().map(KeyRecord::try_from).collect()
}

impl TryFrom<Row> for KeyRecord {
    type Error = database::Error;

    fn try_from(row: Row) -> Result<Self> {
        let status = row.status.map(u16::try_from).transpose();
        let is_expired = row.is_expired && row.state.has_response();
        Ok(Self {
            operation: OperationId::from(row.operation_id),
            method: row.method,
            route: row.route,
            // As a retry would find it, whether the response has been erased or not.
            state: if is_expired { RecordState::Expired } else { row.state },
            status: status.map_err(|error| DeserializationError(Box::new(error)))?,
            created_at: row.created_at,
            completed_at: row.completed_at,
            expires_at: row.expires_at,
            location: row.headers.filter(|_| !row.is_expired).as_ref().and_then(location),
        })
    }
}

/// The value of the `Location` header among ordered pairs of name and value.
fn location(headers: &Value) -> Option<String> {
    let pairs = headers.as_array()?.iter();
    let mut pairs = pairs.filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)));
    pairs.find(|(name, _)| name.eq_ignore_ascii_case("location")).map(|(_, value)| value.to_owned())
}
