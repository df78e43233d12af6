//! Deletes old entries of `inbox_message`, in small batches.
//!
//! A late duplicate of a deleted entry is still a duplicate: its sequence is not above the last one of its aggregate. Three
//! entries stay although they are old:
//!
//! - The entry of a message that waits in `inbox_parked`.
//! - An entry behind one that stays, in the history of its aggregate. So the rest of a history has no gap, and the audit
//!   `a_message_is_applied_once` can still tell one. (A message can be held long before its predecessor arrives.)
//! - An entry whose number another message has, until both are old. Otherwise the first message, delivered again,
//!   would count as one of a second history.

use chrono::{DateTime, TimeDelta, Utc};
use database::{Database, Result, Tx};
use diesel::sql_types::{BigInt, Interval, Nullable, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

/// The number of entries that one transaction deletes.
const BATCH: i64 = 1_000;

/// The counts of one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrimCounts {
    /// Entries that were deleted.
    pub deleted: u64,
    /// Old entries that stay.
    pub kept: u64,
}

/// Deletes the entries that are older than `keep`, by the database's clock. One pass. Several at the same time
/// delete each entry once. May be repeated, and may be stopped between two batches.
///
/// # Errors
/// Database errors. Batches before the error are committed.
pub async fn trim(database: &Database, keep: TimeDelta, stop: &CancellationToken) -> Result<TrimCounts> {
    let mut counts = TrimCounts::default();
    let mut position = DateTime::UNIX_EPOCH;
    while !stop.is_cancelled() {
        let mut tx = database.begin().await?;
        let Batch { until: Some(until), rows } = next_batch(&mut tx, position, keep).await? else {
            tx.rollback().await?;
            break;
        };
        let deleted = delete(&mut tx, position, until).await?;
        tx.commit().await?;
        counts.deleted += deleted;
        counts.kept += rows.unsigned_abs().saturating_sub(deleted);
        position = until;
    }
    Ok(counts)
}

/// The entries up to a time; no time if there are none. Entries with the same time are in one batch.
#[derive(QueryableByName)]
struct Batch {
    #[diesel(sql_type = Nullable<Timestamptz>)]
    until: Option<DateTime<Utc>>,
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

/// Finds the oldest entries after `position`.
async fn next_batch(tx: &mut Tx, position: DateTime<Utc>, keep: TimeDelta) -> Result<Batch> {
    const OLDEST: &str = "\
        SELECT max(processed_at) AS until, count(*) AS rows \
          FROM (SELECT processed_at FROM inbox_message \
                 WHERE processed_at > $1 AND processed_at < (SELECT clock_timestamp()) - $2 \
                 ORDER BY processed_at LIMIT $3) AS oldest";
    let oldest =
        sql_query(OLDEST).bind::<Timestamptz, _>(position).bind::<Interval, _>(keep).bind::<BigInt, _>(BATCH);
    Ok(oldest.get_result(tx).await?)
}

/// Deletes the entries of a batch, except those that stay.
async fn delete(tx: &mut Tx, position: DateTime<Utc>, until: DateTime<Utc>) -> Result<u64> {
    // An entry outside the batch stays, and so does one that waits. The entry itself is among the entries before it.
    const DELETE: &str = "\
        DELETE FROM inbox_message AS entry \
         WHERE entry.processed_at > $1 AND entry.processed_at <= $2 \
           AND NOT EXISTS ( \
               SELECT FROM inbox_message AS before \
                WHERE before.aggregate_id = entry.aggregate_id AND before.sequence <= entry.sequence \
                  AND before.consumer = entry.consumer AND before.source = entry.source \
                  AND (before.processed_at <= $1 OR before.processed_at > $2 \
                       OR EXISTS (SELECT FROM inbox_parked AS waiting \
                                   WHERE waiting.consumer = before.consumer AND waiting.message_id = before.message_id)))";
    let deleted =
        sql_query(DELETE).bind::<Timestamptz, _>(position).bind::<Timestamptz, _>(until).execute(tx).await?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
