//! Reads the days of the outbox, and the days that retention has dropped. Changes nothing.

use std::fmt;

use chrono::NaiveDate;
use database::{Database, Result};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Bool, Date, Nullable, Text};
use diesel_async::RunQueryDsl;
use serde::Serialize;

use super::format::GroupedDigits;

/// The days that exist, and those that do not exist any more.
#[derive(Serialize)]
pub(super) struct Days {
    partitions: Vec<Partition>,
    /// Whether the default partition holds rows, because their day began before its partition was created.
    default_holds_rows: bool,
    dropped: DroppedDays,
}

/// A partition of the outbox.
#[derive(Serialize, QueryableByName)]
struct Partition {
    /// The name of its table: `outbox_event_` and the day in UTC.
    #[diesel(sql_type = Text)]
    name: String,
    /// The estimated number of its rows, from PostgreSQL's statistics.
    #[diesel(sql_type = BigInt)]
    rows_estimate: i64,
}

/// The days that retention has dropped. Their events cannot be published again.
#[derive(Serialize, QueryableByName)]
pub(super) struct DroppedDays {
    /// Their number.
    #[diesel(sql_type = BigInt)]
    days: i64,
    /// The number of their rows.
    #[diesel(sql_type = BigInt)]
    rows: i64,
    /// The last of these days, in UTC.
    #[diesel(sql_type = Nullable<Date>)]
    last_day: Option<NaiveDate>,
    /// The greatest id of their rows.
    #[diesel(sql_type = Nullable<BigInt>)]
    last_id: Option<i64>,
}

impl Days {
    pub(super) async fn read(database: &Database) -> Result<Self> {
        let (partitions, default_holds_rows) = read_partitions(database).await?;
        Ok(Self { partitions, default_holds_rows, dropped: DroppedDays::read(database).await? })
    }
}

impl DroppedDays {
    pub(super) async fn read(database: &Database) -> Result<Self> {
        const DROPPED: &str = "\
            SELECT count(*) AS days, coalesce(sum(rows), 0)::bigint AS rows, max(day) AS last_day, max(last_id) AS last_id \
              FROM outbox_dropped_day";
        Ok(sql_query(DROPPED).get_result(&mut database.connection().await?).await?)
    }
}

async fn read_partitions(database: &Database) -> Result<(Vec<Partition>, bool)> {
    // Two estimates, because a crash of the server resets the counted rows and keeps the result of ANALYZE.
    const PARTITIONS: &str = "\
        SELECT part.relname::text AS name, \
               greatest(part.reltuples::bigint, pg_stat_get_live_tuples(part.oid), 0) AS rows_estimate \
          FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid \
         WHERE inhparent = 'outbox_event'::regclass ORDER BY part.relname";
    // Usually the default partition is empty, and then no row is read. The query names the whole table, because the
    // service's role may not read a partition directly.
    const DEFAULT_HOLDS_ROWS: &str = "\
        SELECT CASE WHEN pg_relation_size('outbox_event_default') = 0 THEN false \
                    ELSE EXISTS (SELECT FROM outbox_event WHERE tableoid = 'outbox_event_default'::regclass) \
               END AS default_holds_rows";
    #[derive(QueryableByName)]
    struct DefaultPartition {
        #[diesel(sql_type = Bool)]
        default_holds_rows: bool,
    }
    let mut connection = database.connection().await?;
    let partitions = sql_query(PARTITIONS).get_results(&mut connection).await?;
    let DefaultPartition { default_holds_rows } =
        sql_query(DEFAULT_HOLDS_ROWS).get_result(&mut connection).await?;
    Ok((partitions, default_holds_rows))
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partitions, default_holds_rows, dropped } = self;
        for (number, partition) in partitions.iter().enumerate() {
            let title = if number == 0 { "days" } else { "" };
            let rows = GroupedDigits(partition.rows_estimate);
            writeln!(f, "{title:8} {}, about {rows} rows", partition.name)?;
        }
        if *default_holds_rows {
            writeln!(
                f,
                "         the default partition holds rows: their day began before its partition was created"
            )?;
        }
        writeln!(f, "dropped  {dropped}")
    }
}

impl fmt::Display for DroppedDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rows) = (GroupedDigits(self.days), GroupedDigits(self.rows));
        match (self.last_day, self.last_id) {
            (Some(day), Some(id)) => {
                write!(f, "{days} days with {rows} rows, the last day is {day}, the last row {id}")
            }
            (Some(day), None) => write!(f, "{days} days without rows, the last day is {day}"),
            (None, _) => write!(f, "no day"),
        }
    }
}
