//! What is remembered of a key, for the one who used it.

use chrono::{DateTime, Utc};
use contracts::{Caller, OperationId};
use database::{Connection, Result};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Jsonb, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use crate::Key;

/// One operation that a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id, from the record to the audit fact.
    pub operation: OperationId,
    /// `POST`
    pub method: String,
    /// The route's template.
    pub route: String,
    /// `started`, `completed`, `unknown`, `failed_retryable` or `failed_terminal`; `expired` once the answer is no
    /// longer replayed.
    pub state: String,
    /// The HTTP status of the answer, if there is one.
    pub status: Option<u16>,
    /// When the key was first used.
    pub created_at: DateTime<Utc>,
    /// When the answer was written.
    pub completed_at: Option<DateTime<Utc>>,
    /// The answer is replayed until then.
    pub expires_at: Option<DateTime<Utc>>,
    /// The answer's `Location`, as long as it is replayed.
    pub location: Option<String>,
}

/// The table's key ends with `key`, behind method and route. So the routes that the caller has used are found first, by
/// one step through the index for each: never by reading all of the caller's records, and without a second index that
/// every command would have to write.
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
           coalesce(record.expires_at <= clock_timestamp(), false) OR snapshot.operation_id IS NULL AS forgotten
      FROM used
      JOIN idempotency_record record USING (method, route)
      LEFT JOIN idempotency_snapshot snapshot USING (operation_id)
     WHERE record.tenant_id = $1 AND record.client_id = $2 AND record.key = $3
     ORDER BY record.created_at, record.operation_id";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    operation_id: Uuid,
    #[diesel(sql_type = Text)]
    method: String,
    #[diesel(sql_type = Text)]
    route: String,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Nullable<SmallInt>)]
    status: Option<i16>,
    #[diesel(sql_type = Timestamptz)]
    created_at: DateTime<Utc>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    completed_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    expires_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    headers: Option<Value>,
    #[diesel(sql_type = Bool)]
    forgotten: bool,
}

/// What this caller has used the key for, on whatever routes, oldest first. Nothing of anybody else's.
///
/// A command that runs in one transaction has no record before it has ended.
pub async fn records_of(connection: &mut Connection, caller: &Caller, key: &Key) -> Result<Vec<KeyRecord>> {
    let query = diesel::sql_query(RECORDS)
        .bind::<Text, _>(caller.tenant.as_str())
        .bind::<Text, _>(caller.client.as_str())
        .bind::<Text, _>(key.as_str());
    let rows: Vec<Row> = query.get_results(connection).await?;
    Ok(rows.into_iter().map(KeyRecord::from).collect())
}

impl From<Row> for KeyRecord {
    fn from(row: Row) -> Self {
        // As a retry would find it: an answer that is not replayed any more has expired, whoever has erased it or not.
        let expired =
            row.forgotten && matches!(row.state.as_str(), "completed" | "unknown" | "failed_terminal");
        Self {
            operation: OperationId::from(row.operation_id),
            method: row.method,
            route: row.route,
            state: if expired { "expired".to_owned() } else { row.state },
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            created_at: row.created_at,
            completed_at: row.completed_at,
            expires_at: row.expires_at,
            location: row.headers.filter(|_| !row.forgotten).as_ref().and_then(location),
        }
    }
}

fn location(headers: &Value) -> Option<String> {
    let header = |pair: &Value| {
        let name = pair.get(0)?.as_str()?;
        name.eq_ignore_ascii_case("location").then(|| pair.get(1)?.as_str().map(str::to_owned))?
    };
    headers.as_array()?.iter().find_map(header)
}
