//! The schedule: every housekeeping job, and how often it runs. A job belongs to the crate that owns its tables.

use std::time::Duration;

use super::HousekeepingJob;
use crate::config::LogRetention;

/// Partitions are created a week ahead, so a missed pass does no harm.
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// The jobs of every service.
pub(crate) fn schedule(retention: &LogRetention) -> Vec<HousekeepingJob> {
    let LogRetention { outbox, inbox } = retention.clone();
    vec![
        HousekeepingJob::every("outbox partitions", HOUR, |database, stop| async move {
            outbox::make_partitions(&database, &stop).await
        }),
        HousekeepingJob::every("expired keys", MINUTE, |database, stop| async move {
            idempotency::erase_expired_keys(&database, &stop).await
        }),
        HousekeepingJob::every("tombstones", HOUR, |database, stop| async move {
            idempotency::drop_tombstones(&database, &stop).await
        }),
        HousekeepingJob::every("operations", HOUR, |database, stop| async move {
            idempotency::erase_operations(&database, &stop).await
        }),
        HousekeepingJob::every("outbox retention", HOUR, move |database, stop| {
            let settings = outbox.clone();
            async move { outbox::detach_days(&database, &settings, &stop).await }
        }),
        HousekeepingJob::every("inbox retention", HOUR, move |database, stop| async move {
            inbox::trim(&database, inbox, &stop).await
        }),
    ]
}
