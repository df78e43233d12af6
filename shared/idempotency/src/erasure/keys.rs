//! Moves expired records to the tombstones.
//!
//! The move takes no lock on the key. A record with a final outcome never changes again, and a lookup reads both tables from
//! one snapshot: it finds the record before the COMMIT of the move, and the tombstone after it.

use database::{Database, Result};
use tokio_util::sync::CancellationToken;

use super::erase_batch;
use super::partitions::make_partitions;

/// Removes records and responses, and inserts tombstones, in one statement. The condition repeats that of the index
/// `idempotency_record_expiry`. `ctid` needs no plan: it is the place of a row that this statement has locked.
const MOVE: &str = "
    WITH erased AS (
        DELETE FROM idempotency_record
         WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM idempotency_record
             WHERE state IN ('completed', 'failed_terminal', 'expired')
               AND expires_at <= (SELECT clock_timestamp())
               AND tombstone_until IS NOT NULL
             ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING *
    ), response AS (
        DELETE FROM idempotency_snapshot snapshot USING erased WHERE snapshot.operation_id = erased.operation_id
    ), tombstone AS (
        INSERT INTO idempotency_tombstone (key_digest, operation_id, created_at, completed_at, expires_at, tombstone_until,
                                           status, method, route)
        SELECT idempotency_key_digest(tenant_id, client_id, key), operation_id, created_at, completed_at, expires_at,
               tombstone_until, status, method, route
          FROM erased
         WHERE tombstone_until > clock_timestamp()
    )
    SELECT count(*) AS number FROM erased";

/// Moves all records whose responses have expired to the tombstones, and erases the responses. Returns the number of
/// records. A key that is free again leaves no tombstone.
///
/// # Errors
/// Database errors. Batches before the error are committed.
pub async fn erase_expired_keys(database: &Database, stop: &CancellationToken) -> Result<i64> {
    let mut erased = 0;
    loop {
        make_partitions(database, stop).await?;
        if !erase_batch(database, stop, MOVE, &mut erased).await? {
            return Ok(erased);
        }
    }
}
