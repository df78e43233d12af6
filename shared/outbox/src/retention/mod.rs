//! Retention: takes the days out of the outbox that are published and whose grace is over.
//!
//! A day stays whole while one of its rows is unpublished or blocked, or while an operator's command reads the outbox. A day that
//! leaves becomes a table of its own, so that it can be copied, and is dropped later. The database decides, in functions that run as
//! its owner; this module only calls them.

mod days;
mod turn;

use std::time::Duration;

use database::{Database, Result};
use tokio_util::sync::CancellationToken;

use days::{Day, Verdict};
use turn::Turn;

/// A busy day is tried so often in one pass. Each try waits 50 ms for open transactions, because new ones wait behind it.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// How long rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionSettings {
    /// A day stays in the outbox for so many days after its end, at least 1.
    pub keep_days: u16,
    /// A day that has left the outbox is kept as the table `outbox_detached_DAY` for so many days; 0: it is dropped at once.
    pub keep_detached_days: u16,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { keep_days: 7, keep_detached_days: 0 }
    }
}

/// The counts of one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionCounts {
    /// Days whose partition left the outbox.
    pub days_detached: u64,
    /// Rows that left the DEFAULT partition.
    pub rows_detached: u64,
    /// Days whose grace is over and that stay.
    pub days_kept: u64,
    /// Tables of detached days that were dropped.
    pub tables_dropped: u64,
}

/// Takes out every day whose grace is over and that nothing keeps, and drops the tables of days that left earlier. One pass;
/// one instance at a time does it. May be repeated, and may be stopped between two days or batches.
///
/// # Errors
/// Database errors. Days and batches before the error have left the outbox.
pub async fn detach_days(
    database: &Database,
    settings: &RetentionSettings,
    stop: &CancellationToken,
) -> Result<RetentionCounts> {
    let mut counts = RetentionCounts::default();
    let Some(turn) = Turn::take(database).await? else { return Ok(counts) };
    let RetentionSettings { keep_days, keep_detached_days } = *settings;
    let pass = RetentionPass {
        database,
        keep_days: keep_days.into(),
        keep_detached_days: keep_detached_days.into(),
        stop,
    };
    for day in days::over(database, pass.keep_days).await? {
        if stop.is_cancelled() {
            break;
        }
        if day.is_partition {
            pass.detach_partition(&day, &mut counts).await?;
        } else {
            pass.empty_default(&day, &mut counts).await?;
        }
    }
    counts.tables_dropped = days::drop_detached(database, pass.keep_detached_days).await?;
    drop(turn);
    Ok(counts)
}

struct RetentionPass<'p> {
    database: &'p Database,
    keep_days: i32,
    keep_detached_days: i32,
    stop: &'p CancellationToken,
}

impl RetentionPass<'_> {
    async fn detach_partition(&self, day: &Day, counts: &mut RetentionCounts) -> Result<()> {
        let verdict = self.try_detach(day).await?;
        match verdict {
            Verdict::Detached => {
                counts.days_detached += 1;
                tracing::info!(day = %day.date, "OutboxDayDetached");
            }
            Verdict::Absent | Verdict::Young => {}
            Verdict::Unpublished | Verdict::Blocked => {
                counts.days_kept += 1;
                tracing::warn!(day = %day.date, ?verdict, "OutboxDayKept: see `outbox status`");
            }
            Verdict::Read | Verdict::Busy => {
                counts.days_kept += 1;
                tracing::info!(day = %day.date, ?verdict, "OutboxDayKept: the next pass tries again");
            }
        }
        Ok(())
    }

    async fn try_detach(&self, day: &Day) -> Result<Verdict> {
        for _ in 1..ATTEMPTS {
            let (keep_days, keep_detached_days) = (self.keep_days, self.keep_detached_days);
            match days::detach_partition(self.database, day, keep_days, keep_detached_days).await? {
                Verdict::Busy => {}
                verdict => return Ok(verdict),
            }
            if self.stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                break;
            }
        }
        Ok(Verdict::Busy)
    }

    /// Takes the published rows of a day out of the DEFAULT partition, in batches.
    async fn empty_default(&self, day: &Day, counts: &mut RetentionCounts) -> Result<()> {
        let mut position = 0;
        loop {
            let ids = days::detachable(self.database, day, position).await?;
            let Some(last) = ids.last().copied() else { return Ok(()) };
            if self.stop.is_cancelled() {
                return Ok(());
            }
            let (keep_days, keep_detached_days) = (self.keep_days, self.keep_detached_days);
            let detached =
                days::detach_default(self.database, day, keep_days, keep_detached_days, ids).await?;
            let Some(detached) = detached else { return Ok(()) };
            counts.rows_detached += detached;
            position = last;
        }
    }
}
