//! The partitions of the tombstones: made before the records that need them move, and dropped whole.

use std::time::Duration;

use database::{Database, ErrorClass, Result};
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

/// An attempt waits 50 ms for locks, because lookups may wait behind it. So it may take several.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

#[derive(QueryableByName)]
struct Made {
    #[diesel(sql_type = Integer)]
    number: i32,
}

/// Makes the missing partitions for the next batch of records.
pub(super) async fn make_partitions(database: &Database, stop: &CancellationToken) -> Result<()> {
    let made = insist(database, stop, try_to_make).await?;
    if made > 0 {
        tracing::info!(made, "tombstone partitions created");
    }
    Ok(())
}

async fn try_to_make(database: Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    let made: Made = sql_query(MAKE).bind::<BigInt, _>(BATCH).get_result(&mut connection).await?;
    Ok(made.number)
}

/// Drops the partitions whose keys are all free again. Returns their number. May be repeated.
///
/// # Errors
/// Database errors; contention if open transactions kept it waiting each time.
pub async fn drop_tombstones(database: &Database, stop: &CancellationToken) -> Result<i32> {
    insist(database, stop, try_to_drop).await
}

async fn try_to_drop(database: Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    Ok(diesel::select(idempotency_drop_tombstone_partitions()).get_result(&mut connection).await?)
}

/// Calls the function again until no lock delays it. Returns the number of its partitions; 0 if `stop` is cancelled.
async fn insist<Attempt>(
    database: &Database,
    stop: &CancellationToken,
    attempt: fn(Database) -> Attempt,
) -> Result<i32>
where
    Attempt: Future<Output = Result<i32>>,
{
    for _ in 1..ATTEMPTS {
        match attempt(database.clone()).await {
            Err(error) if error.class() == ErrorClass::Contention => {}
            result => return result,
        }
        if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
            return Ok(0);
        }
    }
    attempt(database.clone()).await
}
