//! POST /v1/orders, with orders and its relay alone: first executions and replays, beside the bare statement.

pub(super) mod bare_statement;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::orders::{Client, Placer, Replayer, stock_catalogue};
use crate::environment::{Environment, TestBed, cpu_seconds, own_cpu_seconds};
use crate::load::{Load, Worker, closed_loop, median};
use crate::report::Section;
use crate::workload::Workload;
use bare_statement::{BarePlacer, SampleOrder, Sizes, differences, sizes};
use harness::process::resident_mib;
use harness::{Error, Part, Program, Result};

/// One kind of load: its speed, and its cost for each request.
struct Sample {
    load: Load,
    /// Microseconds of processor time.
    service: Option<f64>,
    postgres: Option<f64>,
    generator: Option<f64>,
    /// Bytes of WAL.
    wal: f64,
}

/// One round at one number of connections.
struct Round {
    executed: Sample,
    replayed: Sample,
    statement: Sample,
}

/// Selects a kind of load.
type Kind = fn(&Round) -> &Sample;

/// The parts that all rounds use.
struct Setup<'g> {
    environment: &'g Environment,
    service: Program,
    address: String,
    bare: TestBed,
    sample: Arc<SampleOrder>,
}

/// Measures the kinds of load in turn.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let (mut setup, mut section) = (Setup::new(environment).await?, Section::default());
    for &connections in &workload.connections {
        eprintln!("place: {connections} connections");
        setup.round(connections, workload.warm_up).await?;
        let mut rounds = Vec::new();
        for _ in 0..workload.rounds {
            let round = setup.round(connections, workload.length).await?;
            eprintln!(
                "place: first executions {:.0}/s, replays {:.0}/s, bare statement {:.0}/s",
                round.executed.load.rate, round.replayed.load.rate, round.statement.load.rate,
            );
            rounds.push(round);
        }
        report(connections, &rounds, &mut section);
    }
    if let Some(memory) = setup.service.pid().and_then(resident_mib) {
        section.at_most("place.orders_resident_mib", memory, 60.0);
    }
    setup.service.stop().await?;
    Ok(section)
}

impl<'g> Setup<'g> {
    async fn new(environment: &'g Environment) -> Result<Self> {
        let (database, bare) =
            (environment.postgres.database("orders").await?, environment.postgres.database("bare").await?);
        let topics = environment.topics("place");
        environment.migrate(Part::ORDERS, &bare, &topics).await?;
        bare.owner().await?.run("SELECT outbox_make_partitions(1)").await?;
        let settings = environment.service_settings(&database, &topics);
        let mut service = environment.start(Part::ORDERS.instance(1), &settings)?;
        service.ready().await?;
        let address = service.address().await?;
        let sample = Arc::new(same_writes(environment, &address, &database, &bare).await?);
        Ok(Self { environment, service, address, bare, sample })
    }

    async fn round(&mut self, connections: usize, length: Duration) -> Result<Round> {
        let placers = Placer::open(self.environment, &self.address, connections).await?;
        let (executed, placers) = self.sample(placers, length, true).await?;
        let (replayed, _) = self.sample(Replayer::after(placers), length, true).await?;
        let mut bare = Vec::new();
        for _ in 0..connections {
            bare.push(BarePlacer::open(&self.bare, &self.sample).await?);
        }
        let (statement, _) = self.sample(bare, length, false).await?;
        Ok(Round { executed, replayed, statement })
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

/// The part of the bare statement's rate that is asked for: half, and four fifths for a crowd that can share a commit.
fn target(connections: usize) -> f64 {
    if connections < 64 { 0.5 } else { 0.8 }
}

fn report(connections: usize, rounds: &[Round], section: &mut Section) {
    let rate = |of: Kind, beside: Kind| {
        median(rounds.iter().map(|round| of(round).load.rate / beside(round).load.rate))
    };
    let to_statement = rate(|round| &round.executed, |round| &round.statement);
    section.at_least(format!("place.{connections}.to_statement"), to_statement, target(connections));
    let to_executions = rate(|round| &round.replayed, |round| &round.executed);
    section.at_least(format!("place.{connections}.replays_to_executions"), to_executions, 5.0);
    let kinds: [(&str, Kind); 3] = [
        ("executed", |round| &round.executed),
        ("replayed", |round| &round.replayed),
        ("statement", |round| &round.statement),
    ];
    for (kind, of) in kinds {
        let name = format!("place.{connections}.{kind}");
        section.loads(&name, &rounds.iter().map(|round| of(round).load).collect::<Vec<_>>());
        let mut cost = |unit: &str, value: fn(&Sample) -> Option<f64>| {
            let value = median(rounds.iter().filter_map(|round| value(of(round))));
            section.figure(format!("{name}_{unit}"), value);
        };
        cost("service_cpu_us", |sample| sample.service);
        cost("postgres_cpu_us", |sample| sample.postgres);
        cost("generator_cpu_us", |sample| sample.generator);
        cost("wal_bytes", |sample| Some(sample.wal));
    }
}

/// Places one order each way, and refuses to go on if they do not write the same.
async fn same_writes(
    environment: &Environment,
    address: &str,
    orders: &TestBed,
    bare: &TestBed,
) -> Result<SampleOrder> {
    let (orders, owner) = (orders.owner().await?, bare.owner().await?);
    stock_catalogue(&orders).await?;
    let before: [Sizes; 2] = [sizes(&orders).await?, sizes(&owner).await?];
    let response = Client::open(environment, Part::ORDERS, address).await?.place(Uuid::new_v4()).await?;
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
