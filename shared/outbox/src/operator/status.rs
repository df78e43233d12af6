//! `status`: how far the relay is. Asked of the database alone, which knows it whether or not a relay lives.

use std::fmt;

use clap::Args;
use database::Database;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use diesel_async::RunQueryDsl;
use serde::Serialize;

use super::words::{Length, Number};
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
        let relay = relay(database).await?;
        // Before the backlog: what is published in between may be counted as waiting, never the other way round.
        let cursor = progress(database).await?;
        let backlog = backlog(database, &cursor).await?;
        let (partitions, default_holds_rows) = partitions(database).await?;
        let report = Report { relay, cursor, backlog, partitions, default_holds_rows };
        Ok(CommandOutput::new(self.json, true, &report, Report::to_string))
    }
}

/// All lengths of time are seconds of the database's clock.
#[derive(Serialize)]
struct Report {
    /// Who may publish.
    relay: Relay,
    /// How far it has come, as it last wrote down: a few times a second while it publishes, never while it is idle.
    cursor: Progress,
    /// What is committed and not published.
    backlog: Backlog,
    /// The days of the log.
    partitions: Vec<Partition>,
    /// Whether rows lie outside of all days, because a day began before its partition was made.
    default_holds_rows: bool,
}

/// The relay that holds the lease, or held it last.
#[derive(Serialize, QueryableByName)]
struct Relay {
    /// Whether somebody holds it.
    #[diesel(sql_type = Bool)]
    active: bool,
    /// Who holds it, or held it last: process id, and a name that only this relay has.
    #[diesel(sql_type = Text)]
    owner: String,
    /// Counts the changes of hands.
    #[diesel(sql_type = BigInt)]
    epoch: i64,
    /// Until it ends; negative since it has ended; none if nobody ever had it.
    #[diesel(sql_type = Nullable<Double>)]
    lease_seconds: Option<f64>,
}

/// The relay's cursor.
#[derive(Serialize, QueryableByName)]
struct Progress {
    /// Everything that this snapshot sees is published.
    #[diesel(sql_type = Text)]
    snapshot_a: String,
    /// Of what this one sees beyond it, everything up to `last_id`.
    #[diesel(sql_type = Nullable<Text>)]
    snapshot_b: Option<String>,
    /// The last published row of the window that is under way, or 0.
    #[diesel(sql_type = BigInt)]
    last_id: i64,
    /// Since it was written.
    #[diesel(sql_type = Double)]
    age_seconds: f64,
}

/// Rows that wait for the relay.
#[derive(Serialize, QueryableByName)]
struct Backlog {
    /// How many.
    #[diesel(sql_type = BigInt)]
    rows: i64,
    /// Since the oldest of them was written.
    #[diesel(sql_type = Nullable<Double>)]
    oldest_seconds: Option<f64>,
}

/// A part of the log.
#[derive(Serialize, QueryableByName)]
struct Partition {
    /// Its table: `outbox_event_` and the day in UTC.
    #[diesel(sql_type = Text)]
    name: String,
    /// About how many rows it has, by PostgreSQL's statistics.
    #[diesel(sql_type = BigInt)]
    rows_estimate: i64,
}

async fn relay(database: &Database) -> Result<Relay, OperatorError> {
    const LEASE: &str = "\
        SELECT lease_until > clock_timestamp() AS active, owner, epoch, \
               CASE WHEN isfinite(lease_until) \
                    THEN round(extract(epoch FROM lease_until - clock_timestamp()), 3)::float8 END AS lease_seconds \
          FROM outbox_lease";
    let mut connection = database.connection().await?;
    Ok(sql_query(LEASE).get_result(&mut connection).await?)
}

async fn progress(database: &Database) -> Result<Progress, OperatorError> {
    const PROGRESS: &str = "\
        SELECT snapshot_a, snapshot_b, last_id, \
               round(extract(epoch FROM clock_timestamp() - updated_at), 3)::float8 AS age_seconds \
          FROM outbox_cursor";
    let mut connection = database.connection().await?;
    Ok(sql_query(PROGRESS).get_result(&mut connection).await?)
}

/// The relay's next windows, all in one: what is committed now and neither seen by A, nor in the window up to B and
/// published. The two parts are those of the relay's own query.
async fn backlog(database: &Database, cursor: &Progress) -> Result<Backlog, OperatorError> {
    const BACKLOG: &str = "\
        WITH unseen AS ( \
            SELECT id, xid, created_at FROM outbox_event WHERE xid >= pg_snapshot_xmax($1::pg_snapshot) \
            UNION ALL \
            SELECT id, xid, created_at FROM outbox_event \
             WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot))) \
        ) \
        SELECT count(*) AS rows, \
               round(extract(epoch FROM clock_timestamp() - min(created_at)), 3)::float8 AS oldest_seconds \
          FROM unseen \
         WHERE NOT (coalesce(pg_visible_in_snapshot(xid, $2::pg_snapshot), false) AND id <= $3)";
    let mut connection = database.connection().await?;
    let found = sql_query(BACKLOG)
        .bind::<Text, _>(&cursor.snapshot_a)
        .bind::<Nullable<Text>, _>(&cursor.snapshot_b)
        .bind::<BigInt, _>(cursor.last_id)
        .get_result(&mut connection)
        .await?;
    Ok(found)
}

async fn partitions(database: &Database) -> Result<(Vec<Partition>, bool), OperatorError> {
    // After a crash the server has forgotten what it counted, but not what ANALYZE found.
    const PARTITIONS: &str = "\
        SELECT part.relname::text AS name, \
               greatest(part.reltuples::bigint, pg_stat_get_live_tuples(part.oid), 0) AS rows_estimate \
          FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid \
         WHERE inhparent = 'outbox_event'::regclass ORDER BY part.relname";
    // As a rule it never got a page, and then no row is looked at. The service may read the log, not its parts.
    const STRAYED: &str = "\
        SELECT CASE WHEN pg_relation_size('outbox_event_default') = 0 THEN false \
                    ELSE EXISTS (SELECT FROM outbox_event WHERE tableoid = 'outbox_event_default'::regclass) \
               END AS strayed";
    #[derive(QueryableByName)]
    struct Strayed {
        #[diesel(sql_type = Bool)]
        strayed: bool,
    }
    let mut connection = database.connection().await?;
    let partitions = sql_query(PARTITIONS).get_results(&mut connection).await?;
    let Strayed { strayed } = sql_query(STRAYED).get_result(&mut connection).await?;
    Ok((partitions, strayed))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relay, cursor, backlog, partitions, default_holds_rows } = self;
        writeln!(f, "relay    {relay}")?;
        writeln!(f, "cursor   {cursor}")?;
        writeln!(f, "backlog  {backlog}")?;
        for (number, partition) in partitions.iter().enumerate() {
            let title = if number == 0 { "log" } else { "" };
            writeln!(f, "{title:8} {}, about {} rows", partition.name, Number(partition.rows_estimate))?;
        }
        if *default_holds_rows {
            writeln!(
                f,
                "         rows lie in the default partition: their day began before its partition was made"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { active, owner, epoch, lease_seconds } = self;
        match lease_seconds {
            Some(seconds) if *active => {
                write!(f, "active: {owner}, epoch {epoch}, its lease lasts for {} more", Length(*seconds))
            }
            Some(seconds) => {
                let ago = Length(-seconds);
                write!(
                    f,
                    "none: {owner}, epoch {epoch}, ended or lost its lease {ago} ago; start an instance"
                )
            }
            None => write!(f, "none has ever run; start an instance"),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { snapshot_a, snapshot_b, last_id, age_seconds } = self;
        write!(f, "all that snapshot {snapshot_a} sees is published")?;
        if let Some(b) = snapshot_b {
            write!(f, ", and of {b} all up to row {last_id}")?;
        }
        write!(f, "; written {} ago", Length(*age_seconds))
    }
}

impl fmt::Display for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest_seconds {
            Some(oldest) => {
                write!(f, "{} messages wait, the oldest for {}", Number(self.rows), Length(oldest))
            }
            None => write!(f, "nothing waits"),
        }
    }
}
