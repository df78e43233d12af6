//! The days of the outbox, and the database's functions that decide about them and drop them.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use database::{Database, Error, ErrorClass, Result};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Date, Integer, Nullable, Timestamptz};
use diesel::{define_sql_function, sql_query};
use diesel_async::RunQueryDsl;

use crate::outbox_event::{StoredEvent, outbox_event};

/// The number of rows of the DEFAULT partition that one statement deletes.
pub(super) const BATCH: usize = 1_000;

/// How long the drop of one day may take. It counts the rows of the day, while only writers of that day wait.
const DROP_TIMEOUT: Duration = Duration::from_mins(1);

define_sql_function! {
    /// Why a partition must stay; NULL if it can be dropped.
    fn outbox_reason_to_keep(of_day: Date, keep_days: Integer) -> Nullable<Text>;
}

define_sql_function! {
    /// Drops a partition, or returns why it stays.
    fn outbox_drop_day(
        of_day: Date,
        keep_days: Integer,
        archived_rows: Nullable<BigInt>,
        archived_first: Nullable<BigInt>,
        archived_last: Nullable<BigInt>
    ) -> Text;
}

define_sql_function! {
    /// Deletes rows of the DEFAULT partition; NULL if an operator's command reads the outbox.
    fn outbox_delete_default(of_day: Date, keep_days: Integer, ids: Array<BigInt>) -> Nullable<BigInt>;
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
    /// It is dropped.
    Dropped,
    /// It has no partition.
    Absent,
    /// Its grace is not over.
    Young,
    /// The relay has not yet compared its cursor with this server.
    OtherServer,
    /// The relay has not published one of its rows.
    Unpublished,
    /// One of its rows is blocked, or released and not published yet.
    Blocked,
    /// The archive does not have the rows of the partition.
    Differs,
    /// An operator's command reads the outbox.
    Read,
    /// An open transaction holds a lock.
    Busy,
}

impl Verdict {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "dropped" => Self::Dropped,
            "absent" => Self::Absent,
            "young" => Self::Young,
            "other_server" => Self::OtherServer,
            "unpublished" => Self::Unpublished,
            "blocked" => Self::Blocked,
            "differs" => Self::Differs,
            "read" => Self::Read,
            _ => return Err(diesel::result::Error::DeserializationError(text.into()).into()),
        })
    }
}

/// The rows of an archive: their number, the first and the last id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rows: i64,
    pub(super) first_id: Option<i64>,
    pub(super) last_id: Option<i64>,
}

/// The days whose grace is over, oldest first.
pub(super) async fn over(database: &Database, keep_days: i32) -> Result<Vec<Day>> {
    let days = sql_query("SELECT day, is_partition FROM outbox_days_over($1)").bind::<Integer, _>(keep_days);
    Ok(days.get_results(&mut database.connection().await?).await?)
}

/// Why the partition of a day must stay; `None` if it can be dropped. Takes no lock.
pub(super) async fn reason_to_keep(
    database: &Database,
    day: &Day,
    keep_days: i32,
) -> Result<Option<Verdict>> {
    let mut tx = database.begin().await?;
    tx.set_statement_timeout(DROP_TIMEOUT).await?;
    let reason: Option<String> =
        diesel::select(outbox_reason_to_keep(day.date, keep_days)).get_result(&mut tx).await?;
    tx.rollback().await?;
    reason.map(|reason| Verdict::parse(&reason)).transpose()
}

/// Drops the partition of a day unless something keeps it, or the archive does not have its rows.
pub(super) async fn drop_partition(
    database: &Database,
    day: &Day,
    keep_days: i32,
    archived: Option<Extent>,
) -> Result<Verdict> {
    let mut tx = database.begin().await?;
    tx.set_statement_timeout(DROP_TIMEOUT).await?;
    let (rows, first, last) = match archived {
        Some(Extent { rows, first_id, last_id }) => (Some(rows), first_id, last_id),
        None => (None, None, None),
    };
    let dropped = diesel::select(outbox_drop_day(day.date, keep_days, rows, first, last));
    let verdict: Result<String> = dropped.get_result(&mut tx).await.map_err(Error::from);
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

/// Deletes rows of the DEFAULT partition with these ids, except those that something keeps. `None` if an operator's
/// command reads the outbox.
pub(super) async fn delete_default(
    database: &Database,
    day: &Day,
    keep_days: i32,
    ids: Vec<i64>,
) -> Result<Option<u64>> {
    let deleted = diesel::select(outbox_delete_default(day.date, keep_days, ids));
    let deleted: Option<i64> = deleted.get_result(&mut database.connection().await?).await?;
    Ok(deleted.map(i64::unsigned_abs))
}

/// The next ids of a day, after a position, that are published and not blocked.
pub(super) async fn deletable(database: &Database, day: &Day, position: i64) -> Result<Vec<i64>> {
    // The bounds of the day leave one partition to read.
    const DELETABLE: &str = "\
        SELECT event.id FROM outbox_event AS event, outbox_cursor AS relay \
         WHERE event.created_at >= $1 AND event.created_at < $2 AND event.id > $3 \
           AND outbox_cursor_is_valid(relay) AND outbox_is_published(relay, event.xid, event.id) \
           AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id) \
         ORDER BY event.id LIMIT $4";
    #[derive(QueryableByName)]
    struct Id {
        #[diesel(sql_type = BigInt)]
        id: i64,
    }
    let (start, end) = day.bounds();
    let ids: Vec<Id> = sql_query(DELETABLE)
        .bind::<Timestamptz, _>(start)
        .bind::<Timestamptz, _>(end)
        .bind::<BigInt, _>(position)
        .bind::<BigInt, _>(i64::try_from(BATCH).unwrap_or(i64::MAX))
        .get_results(&mut database.connection().await?)
        .await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}

/// The next rows of a day, after a position, in the order of ids.
pub(super) async fn load(
    database: &Database,
    day: &Day,
    position: i64,
    limit: i64,
) -> Result<Vec<StoredEvent>> {
    let (start, end) = day.bounds();
    let rows = outbox_event::table
        .filter(outbox_event::created_at.ge(start))
        .filter(outbox_event::created_at.lt(end))
        .filter(outbox_event::id.gt(position))
        .order(outbox_event::id)
        .limit(limit)
        .select(StoredEvent::as_select())
        .load(&mut database.connection().await?)
        .await?;
    Ok(rows)
}
