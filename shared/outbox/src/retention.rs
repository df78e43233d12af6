//! Retention: takes the days out of the outbox that are published and whose grace is over.
//!
//! A day stays whole while one of its rows is unpublished or blocked, or while an operator's command reads the outbox. A day that
//! leaves becomes a table of its own, so that it can be copied, and is dropped later. The database decides, in functions that run as
//! its owner; this module only calls them.

use std::time::Duration;

use chrono::NaiveDate;
use database::{Database, ErrorClass, Result, attempt_again};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Date, Integer, Nullable};
use diesel::{define_sql_function, select, sql_query};
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

define_sql_function! {
    /// Takes a partition out of the outbox and returns `detached`, or returns why it stays.
    fn outbox_detach_day(of_day: Date, keep_days: Integer, keep_detached_days: Integer) -> Text;
}

define_sql_function! {
    /// Drops the tables of the days that left the outbox so many days ago.
    fn outbox_drop_detached(keep_detached_days: Integer) -> BigInt;
}

/// How long one day may take. Its rows are counted, while only writers of that day wait.
const DETACH_TIMEOUT: Duration = Duration::from_mins(1);

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

/// A day in UTC whose grace is over.
#[derive(QueryableByName)]
struct Day {
    #[diesel(sql_type = Date)]
    day: NaiveDate,
    /// False: its rows are in the DEFAULT partition.
    #[diesel(sql_type = Bool)]
    is_partition: bool,
}

/// Rows that left the DEFAULT partition.
#[derive(QueryableByName)]
struct DetachedRows {
    #[diesel(sql_type = BigInt)]
    detached_rows: i64,
    /// The greatest id; `None` without rows.
    #[diesel(sql_type = Nullable<BigInt>)]
    last_row: Option<i64>,
}

/// Takes out every day whose grace is over and that nothing keeps, and drops the tables of days that left earlier. One pass. May be
/// repeated, may run on several instances at once, and may be stopped between two days or batches.
///
/// # Errors
/// Database errors. Days and batches before the error have left the outbox.
pub async fn detach_days(
    database: &Database,
    settings: &RetentionSettings,
    stop: &CancellationToken,
) -> Result<RetentionCounts> {
    let (keep_days, keep_detached_days) = (settings.keep_days.into(), settings.keep_detached_days.into());
    let pass = RetentionPass { database, keep_days, keep_detached_days, stop };
    let mut counts = RetentionCounts::default();
    let over = sql_query("SELECT day, is_partition FROM outbox_days_over($1)").bind::<Integer, _>(keep_days);
    let days: Vec<Day> = over.get_results(&mut database.connection().await?).await?;
    for Day { day, is_partition } in days {
        if stop.is_cancelled() {
            break;
        }
        if is_partition {
            pass.detach_partition(day, &mut counts).await?;
        } else {
            pass.empty_default(day, &mut counts).await?;
        }
    }
    let dropped = select(outbox_drop_detached(keep_detached_days));
    let dropped: i64 = dropped.get_result(&mut database.connection().await?).await?;
    counts.tables_dropped = dropped.unsigned_abs();
    Ok(counts)
}

struct RetentionPass<'p> {
    database: &'p Database,
    keep_days: i32,
    keep_detached_days: i32,
    stop: &'p CancellationToken,
}

impl RetentionPass<'_> {
    async fn detach_partition(&self, day: NaiveDate, counts: &mut RetentionCounts) -> Result<()> {
        let Some(answer) = self.attempt(|| self.try_detach(day)).await? else {
            counts.days_kept += 1;
            tracing::info!(%day, "OutboxDayKept: others hold its locks; the next pass tries again");
            return Ok(());
        };
        match answer.as_str() {
            "detached" => {
                counts.days_detached += 1;
                tracing::info!(%day, "OutboxDayDetached");
            }
            "absent" | "young" => {} // another instance was faster
            reason => {
                counts.days_kept += 1;
                tracing::warn!(%day, reason, "OutboxDayKept: see `outbox status`");
            }
        }
        Ok(())
    }

    async fn try_detach(&self, day: NaiveDate) -> Result<String> {
        let mut tx = self.database.begin().await?;
        tx.set_statement_timeout(DETACH_TIMEOUT).await?;
        let detach = select(outbox_detach_day(day, self.keep_days, self.keep_detached_days));
        let answer = detach.get_result(&mut tx).await?;
        tx.commit().await?;
        Ok(answer)
    }

    /// Takes the published rows of a day out of the DEFAULT partition, batch by batch.
    async fn empty_default(&self, day: NaiveDate, counts: &mut RetentionCounts) -> Result<()> {
        let mut after = Some(0);
        while let Some(id) = after
            && !self.stop.is_cancelled()
        {
            let Some(batch) = self.attempt(|| self.detach_rows(day, id)).await? else { break };
            counts.rows_detached += batch.detached_rows.unsigned_abs();
            after = batch.last_row;
        }
        Ok(())
    }

    async fn detach_rows(&self, day: NaiveDate, after: i64) -> Result<DetachedRows> {
        let detach = sql_query("SELECT detached_rows, last_row FROM outbox_detach_rows($1, $2, $3, $4)")
            .bind::<Date, _>(day)
            .bind::<Integer, _>(self.keep_days)
            .bind::<Integer, _>(self.keep_detached_days)
            .bind::<BigInt, _>(after);
        Ok(detach.get_result(&mut self.database.connection().await?).await?)
    }

    /// Attempts it until it gets its locks. `None` if writers, another instance or an operator's command hold them for ten seconds, or
    /// if the pass is stopped. An attempt waits 50 ms for a lock, because new transactions wait behind it.
    async fn attempt<T, F: Future<Output = Result<T>>>(
        &self,
        attempt: impl FnMut() -> F,
    ) -> Result<Option<T>> {
        match attempt_again(self.stop, attempt).await {
            Err(error) if error.class() == ErrorClass::Contention => Ok(None),
            result => result,
        }
    }
}
