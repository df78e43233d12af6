//! POST /v1/orders, orders and its relay alone: first executions and replays, beside the bare statement.

mod pgbench;
mod report;
mod statement;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::orders::{Client, Placer, Replayer, stock_catalogue};
use crate::effort::Effort;
use crate::ground::{Ground, Program, TestBed, cpu_seconds, resident_mib, settings_of_service};
use crate::load::{Load, Worker, closed_loop};
use crate::report::Part;
use crate::trouble::Trouble;
use pgbench::Pgbench;
use statement::{BarePlacer, Sizes, Specimen, differences, sizes};

/// Keys that are replayed at most: enough that not every look finds the same page.
const KEYS: usize = 20_000;

/// What one kind of load took, and what it cost.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) load: Load,
    /// Microseconds of processor time for each request.
    pub(super) service: Option<f64>,
    pub(super) postgres: Option<f64>,
    pub(super) generator: Option<f64>,
    /// Bytes of WAL for each request.
    pub(super) wal: f64,
}

/// One round at one number of connections.
pub(super) struct Round {
    pub(super) executed: Sample,
    pub(super) replayed: Sample,
    pub(super) statement: Sample,
    pub(super) pgbench: Option<Load>,
}

/// What all rounds share.
struct Stage<'g> {
    ground: &'g Ground,
    service: Program,
    address: String,
    bare: TestBed,
    specimen: Arc<Specimen>,
    pgbench: Option<Pgbench>,
    keys: Arc<Vec<Uuid>>,
}

/// Measures everything, the kinds in turn.
pub(crate) async fn measure(ground: &Ground, effort: &Effort) -> Result<Part, Trouble> {
    let mut stage = Stage::set(ground).await?;
    let mut found = Vec::new();
    for &connections in &effort.connections {
        eprintln!("place: {connections} connections");
        stage.round(connections, effort.warm_up).await?;
        let mut rounds = Vec::new();
        for _ in 0..effort.rounds {
            let round = stage.round(connections, effort.length).await?;
            eprintln!(
                "place: first executions {:.0}/s, replays {:.0}/s, bare statement {:.0}/s, pgbench {:.0}/s",
                round.executed.load.rate,
                round.replayed.load.rate,
                round.statement.load.rate,
                round.pgbench.map_or(f64::NAN, |load| load.rate)
            );
            rounds.push(round);
        }
        found.push((connections, rounds));
    }
    let memory = resident_mib(stage.service.pid());
    stage.service.stop().await?;
    Ok(report::report(effort, &found, memory))
}

impl<'g> Stage<'g> {
    async fn set(ground: &'g Ground) -> Result<Self, Trouble> {
        let (database, bare) =
            (ground.postgres.database("orders").await?, ground.postgres.database("bare").await?);
        let topics = ground.topics("place");
        Program::run(ground, "orders", "migrate", &settings_of_service(ground, &bare, &topics)).await?;
        bare.owner().await?.run("SELECT outbox_make_partitions(1)").await?;
        let mut settings = settings_of_service(ground, &database, &topics);
        settings.push(("IDEM_LIMITS__REQUESTS_PER_SECOND", "0".to_owned()));
        let mut service = Program::start(ground, "orders", "serve", &settings)?;
        let (address, _) = service.ready().await?;
        let specimen = Arc::new(same_writes(ground, &address, &database, &bare).await?);
        let pgbench = Pgbench::find(&specimen)?;
        Ok(Self { ground, service, address, bare, specimen, pgbench, keys: Arc::default() })
    }

    async fn round(&mut self, connections: usize, length: Duration) -> Result<Round, Trouble> {
        let mut placers = Vec::new();
        for _ in 0..connections {
            placers
                .push(Placer { client: Client::open(self.ground, &self.address).await?, keys: Vec::new() });
        }
        let (executed, placers) = self.sample(placers, length, true).await?;
        let mut keys: Vec<Uuid> = placers.into_iter().flat_map(|placer| placer.keys).collect();
        keys.truncate(KEYS);
        self.keys = Arc::new(keys);
        let mut replayers = Vec::new();
        for number in 0..connections {
            let client = Client::open(self.ground, &self.address).await?;
            let next = number * self.keys.len() / connections;
            replayers.push(Replayer { client, keys: Arc::clone(&self.keys), next });
        }
        let (replayed, _) = self.sample(replayers, length, true).await?;
        let mut bare = Vec::new();
        for _ in 0..connections {
            bare.push(BarePlacer::open(&self.bare, &self.specimen).await?);
        }
        let (statement, _) = self.sample(bare, length, false).await?;
        let pgbench = match &self.pgbench {
            Some(pgbench) => Some(pgbench.run(&self.bare, connections, length).await?),
            None => None,
        };
        Ok(Round { executed, replayed, statement, pgbench })
    }

    async fn sample<W: Worker>(
        &self,
        workers: Vec<W>,
        length: Duration,
        through_service: bool,
    ) -> Result<(Sample, Vec<W>), Trouble> {
        let (postgres, wal) =
            (self.ground.postgres.cpu_seconds().await?, self.ground.postgres.wal_bytes().await?);
        let (service, generator) = (cpu_seconds(self.service.pid()), cpu_seconds(0));
        let (load, workers) = closed_loop(workers, length).await?;
        let each = |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / load.count);
        let sample = Sample {
            load,
            service: each(service, cpu_seconds(self.service.pid())).filter(|_| through_service),
            generator: each(generator, cpu_seconds(0)),
            postgres: each(postgres, self.ground.postgres.cpu_seconds().await?),
            wal: (self.ground.postgres.wal_bytes().await? - wal) / load.count,
        };
        Ok((sample, workers))
    }
}

/// Places one order each way, and refuses to go on if they do not write the same.
async fn same_writes(
    ground: &Ground,
    address: &str,
    orders: &TestBed,
    bare: &TestBed,
) -> Result<Specimen, Trouble> {
    let (orders, owner) = (orders.owner().await?, bare.owner().await?);
    stock_catalogue(&orders).await?;
    let before: [Sizes; 2] = [sizes(&orders).await?, sizes(&owner).await?];
    let answer = Client::open(ground, address).await?.post(&Uuid::new_v4().to_string()).await?;
    if answer.status != 201 {
        return Err(answer.unexpected("the first order"));
    }
    let specimen = Arc::new(Specimen::of(&orders).await?);
    BarePlacer::open(bare, &specimen).await?.once().await?;
    let after: [Sizes; 2] = [sizes(&orders).await?, sizes(&owner).await?];
    let found = differences([&before[0], &after[0]], [&before[1], &after[1]]);
    if !found.is_empty() {
        return Err(Trouble::Refused(format!(
            "the bare statement no longer writes what POST /v1/orders writes; mend tools/bench/src/parts/place/place.sql:\n  {}",
            found.join("\n  ")
        )));
    }
    Arc::try_unwrap(specimen).map_err(|_| Trouble::Refused("the specimen is still in use".to_owned()))
}
