//! The days of the outbox, and the database's functions that decide about them and take them out.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use database::{Database, Error, ErrorClass, Result};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Date, Integer, Timestamptz};
use diesel::{define_sql_function, sql_query};
use diesel_async::RunQueryDsl;

/// The number of rows of the DEFAULT partition that one statement takes.
const BATCH: i64 = 1_000;

/// How long one day may take. Its rows are counted, while only writers of that day wait.
const DETACH_TIMEOUT: Duration = Duration::from_mins(1);

define_sql_function! {
    /// Takes a partition out of the outbox, or returns why it stays.
    fn outbox_detach_day(of_day: Date, keep_days: Integer, keep_detached_days: Integer) -> Text;
}

define_sql_function! {
    /// Takes rows out of the DEFAULT partition; NULL if an operator's command reads the outbox.
    fn outbox_detach_default(
        of_day: Date,
        keep_days: Integer,
        keep_detached_days: Integer,
        ids: Array<BigInt>
    ) -> Nullable<BigInt>;
}

define_sql_function! {
    /// Drops the tables of the days that left the outbox so many days ago.
    fn outbox_drop_detached(keep_detached_days: Integer) -> BigInt;
}

/// A day in UTC whose grace is over.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(super) struct Day {
    #[diesel(sql_type = Date, column_name = day)]
    pub(super) date: NaiveDate,
    /// False: its rows are in the DEFAULT partition.
    #[diesel(sql_type = Bool)]
    pub(super) is_partition: bool,
}

impl Day {
    /// The first moment of the day, and that of the next day.
    fn bounds(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        let next = self.date.succ_opt().unwrap_or(NaiveDate::MAX);
        let [start, end] = [self.date, next].map(|date| date.and_time(NaiveTime::MIN).and_utc());
        (start, end)
    }
}

/// The decision about a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has left the outbox.
    Detached,
    /// It has no partition.
    Absent,
    /// Its grace is not over.
    Young,
    /// The relay has not published one of its rows.
    Unpublished,
    /// One of its rows is blocked, or released and not published yet.
    Blocked,
    /// An operator's command reads the outbox.
    Read,
    /// An open transaction holds a lock.
    Busy,
}

impl Verdict {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "detached" => Self::Detached,
            "absent" => Self::Absent,
            "young" => Self::Young,
            "unpublished" => Self::Unpublished,
            "blocked" => Self::Blocked,
            "read" => Self::Read,
            _ => return Err(diesel::result::Error::DeserializationError(text.into()).into()),
        })
    }
}

/// The days whose grace is over, oldest first.
pub(super) async fn over(database: &Database, keep_days: i32) -> Result<Vec<Day>> {
    let days = sql_query("SELECT day, is_partition FROM outbox_days_over($1)").bind::<Integer, _>(keep_days);
    Ok(days.get_results(&mut database.connection().await?).await?)
}

/// Takes the partition of a day out of the outbox, unless something keeps it.
pub(super) async fn detach_partition(
    database: &Database,
    day: &Day,
    keep_days: i32,
    keep_detached_days: i32,
) -> Result<Verdict> {
    let mut tx = database.begin().await?;
    tx.set_statement_timeout(DETACH_TIMEOUT).await?;
    let detached = diesel::select(outbox_detach_day(day.date, keep_days, keep_detached_days));
    let verdict: Result<String> = detached.get_result(&mut tx).await.map_err(Error::from);
    match verdict {
        Err(error) if error.class() == ErrorClass::Contention => {
            tx.rollback().await?;
            Ok(Verdict::Busy)
        }
        verdict => {
            let verdict = Verdict::parse(&verdict?)?;
            tx.commit().await?;
            Ok(verdict)
        }
    }
}

/// Takes rows with these ids out of the DEFAULT partition, except those that something keeps. `None` if an operator's command
/// reads the outbox.
pub(super) async fn detach_default(
    database: &Database,
    day: &Day,
    keep_days: i32,
    keep_detached_days: i32,
    ids: Vec<i64>,
) -> Result<Option<u64>> {
    let detached = diesel::select(outbox_detach_default(day.date, keep_days, keep_detached_days, ids));
    let detached: Option<i64> = detached.get_result(&mut database.connection().await?).await?;
    Ok(detached.map(i64::unsigned_abs))
}

/// Drops the tables of the days that left the outbox so many days ago. Returns their number.
pub(super) async fn drop_detached(database: &Database, keep_detached_days: i32) -> Result<u64> {
    let dropped = diesel::select(outbox_drop_detached(keep_detached_days));
    let dropped: i64 = dropped.get_result(&mut database.connection().await?).await?;
    Ok(dropped.unsigned_abs())
}

/// The next ids of a day, after a position, that are published and not blocked.
pub(super) async fn detachable(database: &Database, day: &Day, position: i64) -> Result<Vec<i64>> {
    // The bounds of the day leave one partition to read.
    const DETACHABLE: &str = "\
        SELECT event.id FROM outbox_event AS event, outbox_cursor AS relay \
         WHERE event.created_at >= $1 AND event.created_at < $2 AND event.id > $3 \
           AND outbox_is_published(relay, event.xid, event.id) \
           AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id) \
         ORDER BY event.id LIMIT $4";
    #[derive(QueryableByName)]
    struct Id {
        #[diesel(sql_type = BigInt)]
        id: i64,
    }
    let (start, end) = day.bounds();
    let ids: Vec<Id> = sql_query(DETACHABLE)
        .bind::<Timestamptz, _>(start)
        .bind::<Timestamptz, _>(end)
        .bind::<BigInt, _>(position)
        .bind::<BigInt, _>(BATCH)
        .get_results(&mut database.connection().await?)
        .await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}
