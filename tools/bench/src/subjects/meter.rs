//! The cost of a service's statements, by the counters of the extension `pg_stat_statements`.

use std::ops::Add;

use crate::environment::{Session, TestBed};
use harness::{Context, Error, Result};

/// The counters of one database.
pub(crate) struct Meter {
    superuser: Session,
}

/// The cost of some statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) calls: f64,
    /// Rows that were returned, inserted or changed.
    pub(crate) rows: f64,
    /// Pages that were read, in the cache or on the disk.
    pub(crate) pages: f64,
    /// Microseconds of execution.
    pub(crate) micros: f64,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            rows: self.rows + other.rows,
            pages: self.pages + other.pages,
            micros: self.micros + other.micros,
        }
    }
}

impl Meter {
    /// Switches the counters on for later sessions of this database.
    pub(crate) async fn start(database: &TestBed) -> Result<Self> {
        let superuser = Session::open(&database.superuser_url).await?;
        let loaded: String = superuser.one("SHOW shared_preload_libraries").await?.get(0);
        if !loaded.contains("pg_stat_statements") {
            return Err(Error::Refused(
                "PostgreSQL counts no statements: start it with shared_preload_libraries=pg_stat_statements, or unset \
                 IDEM_POSTGRES_URL to measure with this checkout's own server"
                    .to_owned(),
            ));
        }
        superuser.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await?;
        superuser
            .run(
                "DO $$ BEGIN \
                     EXECUTE format('ALTER DATABASE %I SET pg_stat_statements.track = top', current_database()); \
                 END $$",
            )
            .await?;
        Ok(Self { superuser })
    }

    /// Begins to count.
    pub(crate) async fn reset(&self) -> Result<()> {
        let reset =
            "SELECT pg_stat_statements_reset(0, oid, 0) FROM pg_database WHERE datname = current_database()";
        self.superuser.one(reset).await.map(drop)
    }

    /// The cost of the service's statements whose text matches all patterns of LIKE.
    pub(crate) async fn cost(&self, patterns: &[&str]) -> Result<Cost> {
        let query = "SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(rows), 0)::float8, \
                            coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8, \
                            coalesce(sum(total_exec_time) * 1000, 0)::float8 \
                       FROM pg_stat_statements \
                       JOIN pg_roles AS role ON role.oid = userid AND rolname LIKE '%\\_service' \
                       JOIN pg_database AS database ON database.oid = dbid AND datname = current_database() \
                      WHERE query LIKE ALL ($1)";
        let row =
            self.superuser.query_one(query, &[&patterns]).await.context("read the counters of statements")?;
        Ok(Cost { calls: row.get(0), rows: row.get(1), pages: row.get(2), micros: row.get(3) })
    }
}
