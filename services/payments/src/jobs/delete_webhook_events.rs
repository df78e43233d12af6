//! Deletes old webhook events in small batches, once nothing is left to be done with them.
//!
//! A deleted event that the processor sends again is stored again and has no effect: its call has ended. An event that disagrees
//! with the known outcome asks the processor once more, and only reads.

use chrono::TimeDelta;
use database::{Database, Result};
use tokio_util::sync::CancellationToken;

use crate::store::webhook_events;

/// The number of events that one statement deletes.
const BATCH: i64 = 1_000;

/// Deletes the events that were received longer than `keep` ago, by the database's clock. Returns their number. One pass;
/// one instance at a time does it. May be repeated, and may be stopped between two batches.
pub async fn delete_webhook_events(
    database: &Database,
    keep: TimeDelta,
    stop: &CancellationToken,
) -> Result<u64> {
    let mut deleted = 0;
    while !stop.is_cancelled() {
        let mut tx = database.begin().await?;
        let batch = webhook_events::delete_settled(&mut tx, keep, BATCH).await?;
        tx.commit().await?;
        if batch == 0 {
            break;
        }
        deleted += batch;
    }
    Ok(deleted)
}
