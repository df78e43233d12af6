//! Retention: drops the days of the outbox that are published and whose grace is over.
//!
//! A day stays whole while one of its rows is unpublished or blocked, while an operator's command reads the outbox, or until its
//! archive is complete. The database decides, in functions that run as its owner; this module only calls them.

mod archive;
mod days;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use database::Database;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::session_lock::SessionLock;
use archive::Archive;
use days::{Day, Extent, Verdict};

/// A busy day is tried so often in one pass. Each try waits 50 ms for open transactions, because new ones wait behind it.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// How long rows are kept, and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionSettings {
    /// A day is kept for so many days after its end, at least 1.
    pub keep_days: u16,
    /// The folder of the archive; `None`: rows are dropped without one.
    pub archive: Option<PathBuf>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { keep_days: 7, archive: None }
    }
}

/// The counts of one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionCounts {
    /// Days whose partition was dropped.
    pub days_dropped: u64,
    /// Rows that were deleted from the DEFAULT partition.
    pub rows_deleted: u64,
    /// Archives that were written.
    pub archives_written: u64,
    /// Days whose grace is over and that stay.
    pub days_kept: u64,
}

/// The pass stopped at a day. The days before it are done, and the next pass begins again.
#[derive(Debug, Error)]
pub enum RetentionError {
    /// The database did not answer, or refused.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// The archive cannot be written or read. Its day stays.
    #[error("the archive of the outbox in {folder}: {error}")]
    Archive {
        /// The folder of the archive.
        folder: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A written archive differs from its manifest when it is read back. Its day stays.
    #[error("the archive {file} was read back and differs: {reason}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The difference.
        reason: String,
    },
}

/// Drops every day whose grace is over and that nothing keeps, after archiving it if the settings name a folder. One pass;
/// one instance at a time does it. May be repeated, and may be stopped between two days, batches or pages of an archive.
pub async fn drop_days(
    database: &Database,
    settings: &RetentionSettings,
    stop: &CancellationToken,
) -> Result<RetentionCounts, RetentionError> {
    let mut counts = RetentionCounts::default();
    let Some(turn) = SessionLock::take_retention(database).await? else { return Ok(counts) };
    let keep_days = i32::from(settings.keep_days);
    let archive = match &settings.archive {
        Some(folder) => Some(Archive::open(database, folder).await?),
        None => None,
    };
    let pass = RetentionPass { database, archive, keep_days, stop };
    for day in days::over(database, keep_days).await? {
        if stop.is_cancelled() {
            break;
        }
        if day.is_partition {
            pass.drop_partition(&day, &mut counts).await?;
        } else {
            pass.empty_default(&day, &mut counts).await?;
        }
    }
    drop(turn);
    Ok(counts)
}

struct RetentionPass<'p> {
    database: &'p Database,
    archive: Option<Archive>,
    keep_days: i32,
    stop: &'p CancellationToken,
}

impl RetentionPass<'_> {
    /// Archives and drops the partition of a day.
    async fn drop_partition(&self, day: &Day, counts: &mut RetentionCounts) -> Result<(), RetentionError> {
        // Asked before the archive is written, so that a day that must stay is not archived again in each pass.
        let reason = days::reason_to_keep(self.database, day, self.keep_days).await?;
        let verdict = match (reason, &self.archive) {
            (Some(reason), _) => reason,
            (None, None) => self.try_drop(day, None).await?,
            (None, Some(archive)) => self.archive_and_drop(archive, day, counts).await?,
        };
        match verdict {
            Verdict::Dropped => {
                counts.days_dropped += 1;
                tracing::info!(day = %day.date, "OutboxDayDropped");
            }
            Verdict::Absent | Verdict::Young => {}
            Verdict::Unpublished | Verdict::Blocked | Verdict::OtherServer => {
                counts.days_kept += 1;
                tracing::warn!(day = %day.date, ?verdict, "OutboxDayKept: see `outbox status`");
            }
            Verdict::Differs | Verdict::Read | Verdict::Busy => {
                counts.days_kept += 1;
                tracing::info!(day = %day.date, ?verdict, "OutboxDayKept: the next pass tries again");
            }
        }
        Ok(())
    }

    /// Drops the day if an archive has all of its rows. A row that was committed after an archive was written makes a new one necessary.
    async fn archive_and_drop(
        &self,
        archive: &Archive,
        day: &Day,
        counts: &mut RetentionCounts,
    ) -> Result<Verdict, RetentionError> {
        for manifest in archive.complete(day).await? {
            match self.try_drop(day, Some(manifest.extent())).await? {
                Verdict::Differs => {}
                verdict => return Ok(verdict),
            }
        }
        match archive.write(self.database, day, self.stop).await? {
            Some(manifest) => {
                counts.archives_written += 1;
                self.try_drop(day, Some(manifest.extent())).await
            }
            None => Ok(Verdict::Busy),
        }
    }

    async fn try_drop(&self, day: &Day, archived: Option<Extent>) -> Result<Verdict, RetentionError> {
        for _ in 1..ATTEMPTS {
            match days::drop_partition(self.database, day, self.keep_days, archived).await? {
                Verdict::Busy => {}
                verdict => return Ok(verdict),
            }
            if self.stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                break;
            }
        }
        Ok(Verdict::Busy)
    }

    /// Deletes the published rows of a day of the DEFAULT partition, after archiving them.
    async fn empty_default(&self, day: &Day, counts: &mut RetentionCounts) -> Result<(), RetentionError> {
        let Some(archive) = &self.archive else {
            let mut position = 0;
            loop {
                let ids = days::deletable(self.database, day, position).await?;
                let Some(last) = ids.last().copied() else { return Ok(()) };
                if !self.delete(day, &ids, counts).await? {
                    return Ok(());
                }
                position = last;
            }
        };
        for manifest in archive.complete(day).await? {
            if !self.delete(day, &archive.ids(&manifest).await?, counts).await? {
                return Ok(());
            }
        }
        // The rest is in no archive: at first all rows, later those that were committed late.
        if !days::deletable(self.database, day, 0).await?.is_empty()
            && let Some(manifest) = archive.write(self.database, day, self.stop).await?
        {
            counts.archives_written += 1;
            self.delete(day, &archive.ids(&manifest).await?, counts).await?;
        }
        Ok(())
    }

    /// Deletes rows of the DEFAULT partition in batches. Returns `false` if it ended early.
    async fn delete(
        &self,
        day: &Day,
        ids: &[i64],
        counts: &mut RetentionCounts,
    ) -> Result<bool, RetentionError> {
        for batch in ids.chunks(days::BATCH) {
            if self.stop.is_cancelled() {
                return Ok(false);
            }
            let deleted = days::delete_default(self.database, day, self.keep_days, batch.to_vec()).await?;
            counts.rows_deleted += deleted.unwrap_or(0);
            if deleted.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
