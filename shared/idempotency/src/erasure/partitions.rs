//! The partitions of the tombstones: made before the records that need them move, and dropped whole.

use database::{Database, Result, attempt_again};
use diesel::sql_types::{BigInt, Integer};
use diesel::{QueryableByName, define_sql_function, sql_query};
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

use super::BATCH;

define_sql_function! {
    /// Runs with the rights of its owner, because the service's role may not drop tables.
    fn idempotency_drop_tombstone_partitions() -> Integer;
}

/// Makes the partitions that the next batch needs. It selects the records of that batch as the move does.
const MAKE: &str = "
    SELECT idempotency_make_tombstone_partitions(max(tombstone_until)) AS number
      FROM (SELECT tombstone_until FROM idempotency_record
             WHERE state IN ('completed', 'failed_terminal', 'expired')
               AND expires_at <= (SELECT clock_timestamp())
               AND tombstone_until IS NOT NULL
             ORDER BY expires_at LIMIT $1) due";

#[derive(QueryableByName)]
struct Made {
    #[diesel(sql_type = Integer)]
    number: i32,
}

/// Makes the missing partitions for the next batch of records.
pub(super) async fn make_partitions(database: &Database, stop: &CancellationToken) -> Result<()> {
    // An attempt waits 50 ms for locks, because lookups may wait behind it. So it may take several.
    if let Some(made @ 1..) = attempt_again(stop, || try_to_make(database)).await? {
        tracing::info!(made, "tombstone partitions created");
    }
    Ok(())
}

async fn try_to_make(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    let made: Made = sql_query(MAKE).bind::<BigInt, _>(BATCH).get_result(&mut connection).await?;
    Ok(made.number)
}

/// Drops the partitions whose keys are all free again. Returns their number; 0 if `stop` is cancelled. May be repeated.
///
/// # Errors
/// Database errors; contention if open transactions kept it waiting each time.
pub async fn drop_tombstones(database: &Database, stop: &CancellationToken) -> Result<i32> {
    Ok(attempt_again(stop, || try_to_drop(database)).await?.unwrap_or(0))
}

async fn try_to_drop(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    Ok(diesel::select(idempotency_drop_tombstone_partitions()).get_result(&mut connection).await?)
}
