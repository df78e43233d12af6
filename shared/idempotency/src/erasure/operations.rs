//! Erases operations. An operation is kept from its end for as long as a key, so its client can read the outcome also if the
//! outcome came long after the response 202.

use database::{Database, Result};
use tokio_util::sync::CancellationToken;

use super::erase_batch;

/// An operation never goes before its record: the audits compare the two.
const ERASE: &str = "
    WITH erased AS (
        DELETE FROM idempotency_operation
         WHERE ctid = ANY (ARRAY(
            SELECT operation.ctid FROM idempotency_operation operation
             WHERE operation.erase_at <= (SELECT clock_timestamp())
               AND NOT EXISTS (SELECT FROM idempotency_record record
                                WHERE record.operation_id = operation.operation_id)
             ORDER BY operation.erase_at LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING operation_id
    )
    SELECT count(*) AS number FROM erased";

/// Erases the operations that ended long ago. Returns their number.
///
/// # Errors
/// Database errors. Batches before the error are committed.
pub async fn erase_operations(database: &Database, stop: &CancellationToken) -> Result<i64> {
    let mut erased = 0;
    while erase_batch(database, stop, ERASE, &mut erased).await? {}
    Ok(erased)
}
