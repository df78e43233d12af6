//! `status`: shows the relay, its cursor, the backlog, and the days of the outbox.
//!
//! It only reads, and only from the database. It therefore also works while no relay runs.

use std::fmt;

use clap::Args;
use database::Database;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use diesel_async::RunQueryDsl;
use serde::Serialize;

use super::days::Days;
use super::format::{GroupedDigits, RoundedTime};
use super::{CommandOutput, OperatorContext, OperatorError};

/// The arguments.
#[derive(Debug, Args)]
pub struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let database = &context.database;
        let relay = read_relay(database).await?;
        let cursor = read_cursor(database).await?;
        let backlog = count_backlog(database).await?;
        let days = Days::read(database).await?;
        let blocked = read_blocked(database).await?;
        let report = Report { relay, cursor, backlog, blocked, days };
        Ok(CommandOutput::new(self.json, true, &report, Report::to_string))
    }
}

/// Every `…_seconds` is a time in seconds by the database's clock.
#[derive(Serialize)]
struct Report {
    /// The relay that may publish.
    relay: Relay,
    /// Its cursor. The relay writes it a few times a second while it publishes, and never while it is idle.
    cursor: CursorRow,
    /// The rows that are committed and not published.
    backlog: Backlog,
    /// The rows that Kafka refused, and those behind them.
    blocked: Blocked,
    /// The days of the outbox, and those that were dropped.
    #[serde(flatten)]
    days: Days,
}

/// The last holder of the lease.
#[derive(Serialize, QueryableByName)]
struct Relay {
    /// Whether it holds the lease now.
    #[diesel(sql_type = Bool)]
    active: bool,
    /// Its process id and a random part.
    #[diesel(sql_type = Text)]
    owner: String,
    /// The number of its term.
    #[diesel(sql_type = BigInt)]
    epoch: i64,
    /// The time until the lease ends; negative after its end; `None` if no relay ever had it.
    #[diesel(sql_type = Nullable<Double>)]
    lease_seconds: Option<f64>,
}

/// The row of the relay's cursor.
#[derive(Serialize, QueryableByName)]
struct CursorRow {
    /// All rows that are visible in this snapshot are published.
    #[diesel(sql_type = Text)]
    snapshot_a: String,
    /// The end of the present window; its rows up to `last_id` are published.
    #[diesel(sql_type = Nullable<Text>)]
    snapshot_b: Option<String>,
    /// The last published row of the present window, or 0.
    #[diesel(sql_type = BigInt)]
    last_id: i64,
    /// After a re-base, the last row that came with the restored database; otherwise 0.
    #[diesel(sql_type = BigInt)]
    restored_id: i64,
    /// The time since the cursor was written.
    #[diesel(sql_type = Double)]
    age_seconds: f64,
}

/// The rows that are committed and not published.
#[derive(Serialize, QueryableByName)]
struct Backlog {
    /// Their number.
    #[diesel(sql_type = BigInt)]
    rows: i64,
    /// The age of the oldest one.
    #[diesel(sql_type = Nullable<Double>)]
    oldest_seconds: Option<f64>,
}

/// The rows of `outbox_blocked`. The relay has passed them, so they are not in the backlog.
#[derive(Serialize, QueryableByName)]
struct Blocked {
    /// Their number.
    #[diesel(sql_type = BigInt)]
    rows: i64,
    /// The number of their aggregates.
    #[diesel(sql_type = BigInt)]
    aggregates: i64,
    /// The age of the oldest one.
    #[diesel(sql_type = Nullable<Double>)]
    oldest_seconds: Option<f64>,
    /// Row and error of the first one.
    #[diesel(sql_type = Nullable<Text>)]
    first: Option<String>,
}

async fn read_relay(database: &Database) -> Result<Relay, OperatorError> {
    const LEASE: &str = "\
        SELECT lease_until > clock_timestamp() AS active, owner, epoch, \
               CASE WHEN isfinite(lease_until) \
                    THEN round(extract(epoch FROM lease_until - clock_timestamp()), 3)::float8 END AS lease_seconds \
          FROM outbox_lease";
    let mut connection = database.connection().await?;
    Ok(sql_query(LEASE).get_result(&mut connection).await?)
}

async fn read_cursor(database: &Database) -> Result<CursorRow, OperatorError> {
    const CURSOR: &str = "\
        SELECT snapshot_a, snapshot_b, last_id, restored_id, \
               round(extract(epoch FROM clock_timestamp() - updated_at), 3)::float8 AS age_seconds \
          FROM outbox_cursor";
    let mut connection = database.connection().await?;
    Ok(sql_query(CURSOR).get_result(&mut connection).await?)
}

/// Counts the committed rows that the relay has not published. The two parts are those of the relay's window: rows above the
/// floor, and earlier rows of transactions that were open at A.
async fn count_backlog(database: &Database) -> Result<Backlog, OperatorError> {
    const BACKLOG: &str = "\
        WITH unpublished AS ( \
            SELECT event.created_at FROM outbox_cursor AS relay, outbox_event AS event \
             WHERE event.id > relay.floor_a AND NOT outbox_is_published(relay, event.xid, event.id) \
            UNION ALL \
            SELECT event.created_at FROM outbox_cursor AS relay \
              CROSS JOIN LATERAL (SELECT pg_snapshot_xip(relay.snapshot_a::pg_snapshot) UNION ALL \
                                  SELECT n::text::xid8 \
                                    FROM generate_series(pg_snapshot_xmax(relay.snapshot_a::pg_snapshot)::text::bigint, \
                                                         relay.next_xid_a - 1) AS n) AS open (xid) \
              JOIN outbox_event AS event ON event.xid = open.xid AND event.id <= relay.floor_a \
             WHERE NOT outbox_is_published(relay, event.xid, event.id) \
        ) \
        SELECT count(*) AS rows, \
               round(extract(epoch FROM clock_timestamp() - min(created_at)), 3)::float8 AS oldest_seconds \
          FROM unpublished";
    let mut connection = database.connection().await?;
    Ok(sql_query(BACKLOG).get_result(&mut connection).await?)
}

async fn read_blocked(database: &Database) -> Result<Blocked, OperatorError> {
    const BLOCKED: &str = "\
        SELECT count(*) AS rows, count(DISTINCT aggregate_id) AS aggregates, \
               round(extract(epoch FROM clock_timestamp() - min(blocked_at)), 3)::float8 AS oldest_seconds, \
               (SELECT format('row %s of aggregate %s: %s', id, aggregate_id, error) \
                  FROM outbox_blocked WHERE error IS NOT NULL ORDER BY id LIMIT 1) AS first \
          FROM outbox_blocked";
    let mut connection = database.connection().await?;
    Ok(sql_query(BLOCKED).get_result(&mut connection).await?)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relay, cursor, backlog, blocked, days } = self;
        writeln!(f, "relay    {relay}")?;
        writeln!(f, "cursor   {cursor}")?;
        writeln!(f, "backlog  {backlog}")?;
        writeln!(f, "blocked  {blocked}")?;
        write!(f, "{days}")
    }
}

impl fmt::Display for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { active, owner, epoch, lease_seconds } = self;
        match lease_seconds {
            Some(seconds) if *active => {
                write!(f, "active: {owner}, epoch {epoch}, its lease ends in {}", RoundedTime(*seconds))
            }
            Some(seconds) => {
                let ago = RoundedTime(-seconds);
                write!(
                    f,
                    "none: the lease of {owner}, epoch {epoch}, ended {ago} ago; start an instance of the service"
                )
            }
            None => write!(f, "none has ever been active; start an instance of the service"),
        }
    }
}

impl fmt::Display for CursorRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { snapshot_a, snapshot_b, last_id, restored_id, age_seconds } = self;
        write!(f, "all rows visible in snapshot {snapshot_a} are published")?;
        if let Some(b) = snapshot_b {
            write!(f, ", and those visible in {b} up to row {last_id}")?;
        }
        if *restored_id > 0 {
            write!(
                f,
                "; re-based: rows up to {restored_id} came with a restored database and are sent again"
            )?;
        }
        write!(f, "; saved {} ago", RoundedTime(*age_seconds))
    }
}

impl fmt::Display for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest_seconds {
            Some(oldest) => {
                write!(
                    f,
                    "{} messages are not published yet, the oldest for {}",
                    GroupedDigits(self.rows),
                    RoundedTime(oldest)
                )
            }
            None => write!(f, "empty"),
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(oldest) = self.oldest_seconds else { return write!(f, "none") };
        let (rows, aggregates) = (GroupedDigits(self.rows), GroupedDigits(self.aggregates));
        write!(f, "{rows} messages of {aggregates} aggregates, the oldest for {}", RoundedTime(oldest))?;
        if let Some(first) = &self.first {
            write!(f, "; {first}; remove the cause, then run outbox release")?;
        }
        Ok(())
    }
}
