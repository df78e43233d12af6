//! Measures the cost of an order while many are placed: CPU of each process, commits of each database, WAL.

use super::Stack;
use crate::environment::{cpu_seconds, own_cpu_seconds};
use crate::report::{Section, Table, number};
use harness::{Part, Result};

/// The CPU, commits and WAL that were used so far.
pub(super) struct Usage {
    /// CPU seconds by process; none for a server on another machine.
    cpu: Vec<(&'static str, f64)>,
    /// Committed transactions by database.
    commits: Vec<(&'static str, f64)>,
    wal_bytes: f64,
}

impl Usage {
    pub(super) async fn of(stack: &Stack<'_>) -> Result<Self> {
        let postgres = &stack.environment.postgres;
        let programs = stack.programs.iter();
        let mut cpu: Vec<_> =
            programs.filter_map(|(part, (program, _))| Some((part.name(), cpu_seconds(program)?))).collect();
        cpu.extend(postgres.cpu_seconds().await?.map(|seconds| ("PostgreSQL", seconds)));
        cpu.extend(own_cpu_seconds().map(|seconds| ("load generator", seconds)));
        let mut commits = Vec::new();
        for part in Part::PROGRAMS {
            commits.push((part.name(), commits_of(stack, part).await?));
        }
        Ok(Self { cpu, commits, wal_bytes: postgres.wal_bytes().await? })
    }

    /// The CPU of one of so many orders since an earlier reading, over all processes, in µs.
    pub(super) fn cpu_us(&self, before: &Self, orders: f64) -> f64 {
        let used = |(name, seconds): &(&'static str, f64)| seconds - of(&before.cpu, name);
        self.cpu.iter().map(used).sum::<f64>() * 1e6 / orders
    }

    /// The use of one of these orders, since an earlier reading.
    pub(super) fn report(&self, before: &Self, orders: f64, section: &mut Section) {
        let mut table = Table::new(
            format!("What each of {orders:.0} orders costs in that crowd (Kafka is not counted)"),
            ["where", "µs of CPU", "commits"],
        );
        let mut total = 0.0;
        for (name, seconds) in &self.cpu {
            let micros = (seconds - of(&before.cpu, name)) * 1e6 / orders;
            total += micros;
            let commits = self.commits.iter().find(|(database, _)| database == name);
            let commits = commits.map(|(_, after)| (after - of(&before.commits, name)) / orders);
            table.row([
                (*name).to_owned(),
                number(micros, 0),
                commits.map_or_else(String::new, |commits| number(commits, 2)),
            ]);
            section.figure(format!("journey.cpu_us.{}", name.replace(' ', "_")), micros);
        }
        table.row(["together".to_owned(), number(total, 0), String::new()]);
        let wal = (self.wal_bytes - before.wal_bytes) / orders;
        table.row(["bytes of WAL".to_owned(), number(wal, 0), String::new()]);
        section.figure("journey.cpu_us.together", total);
        section.tables.push(table);
    }
}

fn of(readings: &[(&'static str, f64)], name: &str) -> f64 {
    readings.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
}

/// Sessions report their transactions once in a second.
async fn commits_of(stack: &Stack<'_>, part: Part) -> Result<f64> {
    let owner = stack.database(part)?.owner().await?;
    let commits = "SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()";
    Ok(owner.one(commits).await?.get(0))
}
