//! A service's database that is filled with rows, column by column.

use std::time::Duration;

use crate::environment::{Environment, Session, TestBed};
use crate::subjects::meter::{Cost, Meter};
use envelope::Topics;
use harness::{CommandOutput, Context, Instance, Part, Program, Result, until};

/// The longest that a probe may take.
const LIMIT: Duration = Duration::from_mins(3);

/// Leaves the statements of the relay out of the cost of a command.
pub(super) fn without_relay() -> (&'static str, String) {
    ("IDEM_RELAY__IN_PROCESS", "false".to_owned())
}

/// A database with one kind of rows.
pub(super) struct Ground<'e> {
    pub(super) environment: &'e Environment,
    part: Part,
    pub(super) database: TestBed,
    pub(super) topics: Topics,
    pub(super) meter: Meter,
    filler: Session,
    rows: usize,
}

impl<'e> Ground<'e> {
    pub(super) async fn prepare(environment: &'e Environment, part: Part, name: &str) -> Result<Self> {
        let database = environment.postgres.database(&format!("growth_{name}")).await?;
        let topics = environment.topics(&format!("growth-{name}"));
        environment.migrate(part, &database, &topics).await?;
        let meter = Meter::start(&database).await?;
        let filler = Session::open(&database.superuser_url).await?;
        // Rows are made up, so foreign keys are not checked.
        filler
            .run("SET session_replication_role = replica; SET synchronous_commit = off; SET work_mem = '256MB'")
            .await?;
        filler.run("SET pg_stat_statements.track = none").await?;
        Ok(Self { environment, part, database, topics, meter, filler, rows: 0 })
    }

    /// Runs constant SQL as the superuser.
    pub(super) async fn run(&self, text: &str) -> Result<()> {
        self.filler.run(text).await
    }

    /// The number that a constant query returns.
    pub(super) async fn number(&self, query: &str) -> Result<f64> {
        Ok(self.filler.one(query).await?.get(0))
    }

    /// Adds rows until there are so many. The script reads their numbers from the settings `bench.from` and `bench.to`.
    pub(super) async fn fill(&mut self, script: &str, rows: usize) -> Result<()> {
        if rows > self.rows {
            let settings = "SELECT set_config('bench.from', $1, false), set_config('bench.to', $2, false)";
            let (from, to) = (self.rows.to_string(), rows.to_string());
            self.filler.query(settings, &[&from, &to]).await.context("say how many rows are made")?;
            self.filler.run(script).await?;
            self.rows = rows;
        }
        Ok(())
    }

    /// Adds so many rows.
    pub(super) async fn add(&mut self, script: &str, rows: usize) -> Result<()> {
        self.fill(script, self.rows + rows).await
    }

    /// Does what autovacuum does after so many rows.
    pub(super) async fn analyse(&self) -> Result<()> {
        self.filler.run("VACUUM ANALYZE").await?;
        self.filler.run("CHECKPOINT").await
    }

    /// Starts a process of the service with these settings beside the usual ones.
    pub(super) fn start(&self, instance: Instance, more: &[(&str, String)]) -> Result<Program> {
        self.environment.start(instance, &self.settings(more))
    }

    /// The same, once it is ready.
    pub(super) async fn serve(&self, number: usize, more: &[(&str, String)]) -> Result<Program> {
        let mut program = self.start(self.part.instance(number), more)?;
        program.ready().await?;
        Ok(program)
    }

    /// Runs a command of the service to its end.
    pub(super) async fn command(&self, words: &[&str], more: &[(&str, String)]) -> Result<CommandOutput> {
        self.environment.run(self.part.instance(1), words, &self.settings(more)).await
    }

    fn settings(&self, more: &[(&str, String)]) -> Vec<(String, String)> {
        let mut settings = self.environment.service_settings(&self.database, &self.topics);
        // Replays are answered by the tables, because this subject measures tables.
        settings.push(("IDEM_IDEMPOTENCY__REPLAY_CACHE_MEBIBYTES".to_owned(), "0".to_owned()));
        settings.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        settings
    }

    /// Waits until the counted statements satisfy a condition. Returns their cost.
    pub(super) async fn until(&self, statements: &[&str], is_enough: impl Fn(Cost) -> bool) -> Result<Cost> {
        until("enough statements have run", LIMIT, "the log of the service", async || {
            let cost = self.meter.cost(statements).await?;
            Ok(if is_enough(cost) { Ok(cost) } else { Err(format!("{cost:?}")) })
        })
        .await
    }

    /// Removes the database, so that the next kind of rows has room.
    pub(super) async fn remove(self) -> Result<()> {
        let Self { environment, database, meter, filler, .. } = self;
        drop((meter, filler));
        environment.postgres.remove(&database).await
    }
}
