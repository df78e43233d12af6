//! `KeyRecords`: the records of a key, as their own caller may see them.

use chrono::{DateTime, Utc};
use database::time::to_rfc3339;
use database::{Connection, Result};
use diesel::QueryableByName;
use diesel::sql_types::{Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
#[cfg(feature = "openapi")]
use envelope::Timestamp;
use envelope::{Caller, OperationId};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::fence::fenced_at;
use crate::keyed_request::key_digest;
use crate::{Key, RecordState};

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IdempotencyRecords))]
pub struct KeyRecords {
    /// One record for each route that the key was used on, oldest first.
    pub data: Vec<KeyRecord>,
    /// When the key was fenced: no record is added any more. Null if it is not fenced.
    #[serde(serialize_with = "as_rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>, required))]
    pub fenced_at: Option<DateTime<Utc>>,
}

/// One operation of a key.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IdempotencyRecord))]
pub struct KeyRecord {
    /// The operation's id, also in the audit.
    #[diesel(sql_type = SqlUuid, deserialize_as = Uuid)]
    pub operation_id: OperationId,
    /// The method of the command.
    #[diesel(sql_type = Text)]
    #[cfg_attr(feature = "openapi", schema(examples("POST")))]
    pub method: String,
    /// The route of the command, as this document names it.
    #[diesel(sql_type = Text)]
    #[cfg_attr(feature = "openapi", schema(examples("/v1/orders")))]
    pub route: String,
    /// `completed`: a retry gets the stored response. `expired`: the response has been erased, and a retry is refused.
    /// `started`: in progress. `unknown`: the outcome is still open, and a retry gets 202. `failed_retryable`: nothing was
    /// done, and a retry is executed. `failed_terminal`: nothing was done, and a retry gets the stored response.
    #[diesel(sql_type = Text)]
    #[cfg_attr(feature = "openapi", schema(value_type = String, examples("completed")))]
    pub state: RecordState,
    /// The HTTP status of the response; null if there is none yet.
    #[diesel(sql_type = Nullable<Integer>)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u16>, required))]
    pub status: Option<i32>,
    /// When the key was first used.
    #[diesel(sql_type = Timestamptz)]
    #[serde(serialize_with = "as_rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = Timestamp))]
    pub created_at: DateTime<Utc>,
    /// When the response was stored; null if there is none yet.
    #[diesel(sql_type = Nullable<Timestamptz>)]
    #[serde(serialize_with = "as_rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>, required))]
    pub completed_at: Option<DateTime<Utc>>,
    /// Until when the response is replayed; null if there is none yet.
    #[diesel(sql_type = Nullable<Timestamptz>)]
    #[serde(serialize_with = "as_rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>, required))]
    pub expires_at: Option<DateTime<Utc>>,
    /// The response's Location; null if it has none, or if the response is no longer replayed.
    #[diesel(sql_type = Nullable<Text>)]
    #[cfg_attr(
        feature = "openapi",
        schema(required, examples("/v1/orders/0190a5c4-7e3b-7abc-8def-0123456789ab"))
    )]
    pub location: Option<String>,
}

fn as_rfc3339<T, S>(time: &T, serializer: S) -> std::result::Result<S::Ok, S::Error>
where
    T: Copy + Into<Option<DateTime<Utc>>>,
    S: Serializer,
{
    (*time).into().map(to_rfc3339).serialize(serializer)
}

/// Finds the caller's routes first, by one step through the index for each, then the key on each route. Because the
/// primary key ends with `key`, a direct search would read all records of the caller. A second index would have to be
/// written by every command. Tombstones are found by one step through the index of each partition.
///
/// The state is as a retry would find it, whether the response has been erased or not.
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
    SELECT record.operation_id, record.method, record.route,
           CASE WHEN record.status IS NULL OR replayed.operation_id IS NOT NULL THEN record.state ELSE 'expired' END AS state,
           record.status, record.created_at, record.completed_at, record.expires_at,
           (SELECT header ->> 1 FROM jsonb_array_elements(replayed.headers) header
             WHERE lower(header ->> 0) = 'location' LIMIT 1) AS location
      FROM used
      JOIN idempotency_record record USING (method, route)
      LEFT JOIN idempotency_snapshot replayed ON replayed.operation_id = record.operation_id
                                             AND coalesce(record.expires_at > clock_timestamp(), true)
     WHERE record.tenant_id = $1 AND record.client_id = $2 AND record.key = $3
    UNION ALL
    SELECT operation_id, method, route, 'expired', status, created_at, completed_at, expires_at, NULL
      FROM idempotency_tombstone
     WHERE key_digest = $4 AND tombstone_until > clock_timestamp()
     ORDER BY created_at, operation_id";

/// Finds the records of this caller's key on all routes, oldest first. Records of other callers are not visible.
///
/// A command in one transaction has no record until it has committed. If the key is fenced, the records are complete.
///
/// # Errors
/// Database errors.
pub async fn records_of(connection: &mut Connection, caller: &Caller, key: &Key) -> Result<KeyRecords> {
    let digest = key_digest(caller, key);
    // Read first, because a record may be added until it is there.
    let fenced_at = fenced_at(connection, digest).await?;
    let query = diesel::sql_query(RECORDS)
        .bind::<Text, _>(caller.tenant.as_str())
        .bind::<Text, _>(caller.client.as_str())
        .bind::<Text, _>(key.as_str())
        .bind::<SqlUuid, _>(digest);
    Ok(KeyRecords { data: query.get_results(connection).await?, fenced_at })
}
