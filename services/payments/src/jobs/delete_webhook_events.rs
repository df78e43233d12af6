//! Deletes old webhook events in small batches, once nothing is left to be done with them.
//!
//! A deleted event that the processor sends again is stored again and has no effect: its call has ended. An event that disagrees
//! with the known outcome causes one more lookup, which changes no money.

use std::time::Duration;

use chrono::TimeDelta;
use database::{Database, Result};
use runtime::HousekeepingJob;
use tokio_util::sync::CancellationToken;

use crate::store::webhook_events;

/// The number of events that one statement deletes.
const BATCH: i64 = 1_000;
/// The pause between two passes.
const PAUSE: Duration = Duration::from_hours(1);

/// Makes the job.
pub(crate) fn job(keep: TimeDelta) -> HousekeepingJob {
    HousekeepingJob::every("webhook events", PAUSE, move |database, stop| async move {
        delete_webhook_events(&database, keep, &stop).await
    })
}

/// Deletes the events that were received longer than `keep` ago, by the database's clock. Returns their number. One pass. Several
/// at the same time delete each event once. May be repeated, and may be stopped between two batches.
pub async fn delete_webhook_events(
    database: &Database,
    keep: TimeDelta,
    stop: &CancellationToken,
) -> Result<u64> {
    let mut deleted = 0;
    while !stop.is_cancelled() {
        let mut tx = database.begin().await?;
        let batch = webhook_events::delete_finished(&mut tx, keep, BATCH).await?;
        tx.commit().await?;
        if batch == 0 {
            break;
        }
        deleted += batch;
    }
    Ok(deleted)
}
