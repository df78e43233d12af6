//! POST /v1/orders, with orders and its relay alone: first executions and replays, beside the bare statement.

pub(super) mod bare_statement;
mod pgbench;
mod report;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::orders::{Client, Placer, Replayer, stock_catalogue};
use crate::environment::{Environment, TestBed, cpu_seconds, own_cpu_seconds};
use crate::load::{Load, Worker, closed_loop};
use crate::report::Section;
use crate::workload::Workload;
use bare_statement::{BarePlacer, SampleOrder, Sizes, differences, sizes};
use harness::process::resident_mib;
use harness::{Error, Part, Program, Result};
use pgbench::Pgbench;

/// The most keys that are replayed: enough to spread over many pages of the table.
const KEYS: usize = 20_000;

/// One kind of load: its speed, and its cost for each request.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) load: Load,
    /// Microseconds of processor time.
    pub(super) service: Option<f64>,
    pub(super) postgres: Option<f64>,
    pub(super) generator: Option<f64>,
    /// Bytes of WAL.
    pub(super) wal: f64,
}

/// One round at one number of connections.
pub(super) struct Round {
    pub(super) executed: Sample,
    pub(super) replayed: Sample,
    pub(super) statement: Sample,
    pub(super) pgbench: Option<Load>,
}

/// The parts that all rounds use.
struct Setup<'g> {
    environment: &'g Environment,
    service: Program,
    address: String,
    bare: TestBed,
    sample: Arc<SampleOrder>,
    pgbench: Option<Pgbench>,
    keys: Arc<Vec<Uuid>>,
}

/// Measures the kinds of load in turn.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let mut setup = Setup::new(environment).await?;
    let mut found = Vec::new();
    for &connections in &workload.connections {
        eprintln!("place: {connections} connections");
        setup.round(connections, workload.warm_up).await?;
        let mut rounds = Vec::new();
        for _ in 0..workload.rounds {
            let round = setup.round(connections, workload.length).await?;
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
    let memory = setup.service.pid().and_then(resident_mib);
    setup.service.stop().await?;
    Ok(report::report(workload, &found, memory))
}

impl<'g> Setup<'g> {
    async fn new(environment: &'g Environment) -> Result<Self> {
        let (database, bare) =
            (environment.postgres.database("orders").await?, environment.postgres.database("bare").await?);
        let topics = environment.topics("place");
        environment.migrate_orders(&bare, &topics).await?;
        bare.owner().await?.run("SELECT outbox_make_partitions(1)").await?;
        let mut settings = environment.service_settings(&database, &topics);
        settings.push(("IDEM_LIMITS__REQUESTS_PER_SECOND".to_owned(), "0".to_owned()));
        let mut service = environment.start(Part::Orders.instance(1), &settings)?;
        service.ready().await?;
        let address = service.address().await?;
        let sample = Arc::new(same_writes(environment, &address, &database, &bare).await?);
        let pgbench = Pgbench::find(&sample)?;
        Ok(Self { environment, service, address, bare, sample, pgbench, keys: Arc::default() })
    }

    async fn round(&mut self, connections: usize, length: Duration) -> Result<Round> {
        let mut placers = Vec::new();
        for _ in 0..connections {
            placers.push(Placer { client: client(self.environment, &self.address).await?, keys: Vec::new() });
        }
        let (executed, placers) = self.sample(placers, length, true).await?;
        let mut keys: Vec<Uuid> = placers.into_iter().flat_map(|placer| placer.keys).collect();
        keys.truncate(KEYS);
        self.keys = Arc::new(keys);
        let mut replayers = Vec::new();
        for number in 0..connections {
            let client = client(self.environment, &self.address).await?;
            let next = number * self.keys.len() / connections;
            replayers.push(Replayer { client, keys: Arc::clone(&self.keys), next });
        }
        let (replayed, _) = self.sample(replayers, length, true).await?;
        let mut bare = Vec::new();
        for _ in 0..connections {
            bare.push(BarePlacer::open(&self.bare, &self.sample).await?);
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
    ) -> Result<(Sample, Vec<W>)> {
        let (postgres, wal) =
            (self.environment.postgres.cpu_seconds().await?, self.environment.postgres.wal_bytes().await?);
        let (service, generator) = (cpu_seconds(&self.service), own_cpu_seconds());
        let (load, workers) = closed_loop(workers, length).await?;
        let each = |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / load.count);
        let sample = Sample {
            load,
            service: each(service, cpu_seconds(&self.service)).filter(|_| through_service),
            generator: each(generator, own_cpu_seconds()),
            postgres: each(postgres, self.environment.postgres.cpu_seconds().await?),
            wal: (self.environment.postgres.wal_bytes().await? - wal) / load.count,
        };
        Ok((sample, workers))
    }
}

/// Servers one order each way, and refuses to go on if they do not write the same.
async fn same_writes(
    environment: &Environment,
    address: &str,
    orders: &TestBed,
    bare: &TestBed,
) -> Result<SampleOrder> {
    let (orders, owner) = (orders.owner().await?, bare.owner().await?);
    stock_catalogue(&orders).await?;
    let before: [Sizes; 2] = [sizes(&orders).await?, sizes(&owner).await?];
    let response = client(environment, address).await?.place(Uuid::new_v4()).await?;
    if response.status != 201 {
        return Err(Error::unexpected(&response, 201));
    }
    let sample = Arc::new(SampleOrder::of(&orders).await?);
    BarePlacer::open(bare, &sample).await?.once().await?;
    let after: [Sizes; 2] = [sizes(&orders).await?, sizes(&owner).await?];
    let found = differences([&before[0], &after[0]], [&before[1], &after[1]]);
    if !found.is_empty() {
        return Err(Error::Refused(format!(
            "the bare statement no longer writes what POST /v1/orders writes; correct tools/bench/src/subjects/place/place.sql:\n  {}",
            found.join("\n  ")
        )));
    }
    Arc::try_unwrap(sample).map_err(|_| Error::Refused("the sample order is still in use".to_owned()))
}

async fn client(environment: &Environment, address: &str) -> Result<Client> {
    Client::open(environment, Part::Orders.instance(1), address).await
}
