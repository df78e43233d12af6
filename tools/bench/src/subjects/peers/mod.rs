//! The relay beside Debezium: the same rows, from the same table to topics of the same brokers.

mod debezium;
mod latency;

use std::time::{Duration, Instant};

use harness::process::{cpu_time, resident_mib};
use harness::{Context, Error, Part, Result};

use self::debezium::{PUBLICATION, Worker};
use self::latency::Latencies;
use super::bare_consumer::TopicEnd;
use super::relay::backlog;
use crate::environment::{Environment, Session, TestBed};
use crate::load::{as_f64, median};
use crate::report::{Ratio, Section, Table, number};
use crate::workload::Workload;

/// The longest that one drain may take.
const LIMIT: Duration = Duration::from_mins(5);

/// The pause between two looks at a topic.
const PAUSE: Duration = Duration::from_millis(10);

/// One drain, from the first record on the topic to the last. Starting does not count.
struct Drain {
    per_second: f64,
    /// Microseconds of processor time for each row.
    process: Option<f64>,
    postgres: Option<f64>,
    /// Of the process, in MiB.
    memory: Option<f64>,
}

/// Measures drains of the relay and of Debezium in turn, and then both at the same time at low load.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let libraries = environment.connect.as_deref().ok_or_else(|| {
        Error::Refused("the libraries of Kafka Connect are missing: use ./dev bench --peers".to_owned())
    })?;
    let database = environment.postgres.database("peers").await?;
    let superuser = Session::open(&database.superuser_url).await?;
    let level: String = superuser.one("SHOW wal_level").await?.get(0);
    if level != "logical" {
        return Err(Error::Refused(format!(
            "Debezium needs wal_level=logical, and PostgreSQL runs with {level}: ./dev down first, and then ./dev bench --peers"
        )));
    }
    eprintln!("peers: filling an outbox with {} rows", workload.rows);
    environment.migrate_orders(&database, &environment.topics("migrating")).await?;
    superuser.run(PUBLICATION).await?;
    let slot = Slot::create(&superuser, &database).await?;
    let owner = database.owner().await?;
    backlog::fill(&owner, workload.rows).await?;
    let mut worker = Worker::start(environment, libraries).await?;
    let (mut relays, mut debeziums) = (Vec::new(), Vec::new());
    for round in 0..=workload.drains {
        let relay = drain_by_relay(environment, &database, &owner, round, workload.rows).await?;
        let slot = slot.copy(&superuser, round).await?;
        let debezium = drain_by_debezium(environment, &mut worker, &database, &slot, workload.rows).await?;
        slot.remove(&superuser).await?;
        eprintln!("peers: relay {:.0}/s, Debezium {:.0}/s", relay.per_second, debezium.per_second);
        if round > 0 {
            relays.push(relay); // the first round warms up
            debeziums.push(debezium);
        }
    }
    slot.remove(&superuser).await?;
    let latencies = latency::measure(environment, &mut worker, &database, &superuser, workload).await?;
    Ok(report(workload, &relays, &debeziums, &latencies))
}

/// A replication slot: a place in the log of PostgreSQL. Its name is unique in the cluster.
struct Slot(String);

impl Slot {
    async fn create(superuser: &Session, database: &TestBed) -> Result<Self> {
        let name = database.name.clone();
        let create = "SELECT FROM pg_create_logical_replication_slot($1, 'pgoutput')";
        superuser.execute(create, &[&name]).await.context("make a replication slot")?;
        Ok(Self(name))
    }

    /// Another slot at the same place.
    async fn copy(&self, superuser: &Session, number: usize) -> Result<Self> {
        let name = format!("{}_{number}", self.0);
        let copy = "SELECT FROM pg_copy_logical_replication_slot($1, $2)";
        superuser.execute(copy, &[&self.0, &name]).await.context("copy a replication slot")?;
        Ok(Self(name))
    }

    async fn remove(self, superuser: &Session) -> Result<()> {
        let name = &self.0;
        harness::until(format!("the slot {name} is removed"), LIMIT, "pg_replication_slots", async || {
            let removed = superuser.execute("SELECT pg_drop_replication_slot($1)", &[name]).await;
            Ok(removed.map(drop).map_err(|error| error.to_string()))
        })
        .await
    }
}

async fn drain_by_relay(
    environment: &Environment,
    database: &TestBed,
    owner: &Session,
    round: usize,
    rows: usize,
) -> Result<Drain> {
    let topics = environment.topics(&format!("relay-{round}"));
    let end = TopicEnd::of(environment, environment.make_topic(&topics).await?)?;
    backlog::rewind(owner).await?;
    let settings = environment.service_settings(database, &topics);
    let mut relay = environment.start(Part::Orders.relay(1), &settings)?;
    let drained = drain(environment, &end, rows, relay.pid()).await;
    let drained = drained?.ok_or_else(|| relay.error("has not drained the outbox"))?;
    relay.stop().await?;
    Ok(drained)
}

async fn drain_by_debezium(
    environment: &Environment,
    worker: &mut Worker,
    database: &TestBed,
    slot: &Slot,
    rows: usize,
) -> Result<Drain> {
    let topics = environment.topics(&slot.0);
    let end = TopicEnd::of(environment, environment.make_topic(&topics).await?)?;
    worker.connect(&slot.0, database, &topics).await?;
    let drained = drain(environment, &end, rows, worker.pid()).await;
    let drained = drained?.ok_or_else(|| worker.error("has not drained the outbox"))?;
    worker.disconnect(&slot.0).await?;
    Ok(drained)
}

/// Looks at the topic until it has a message for each row; `None` after the limit.
async fn drain(
    environment: &Environment,
    end: &TopicEnd,
    rows: usize,
    process: Option<u32>,
) -> Result<Option<Drain>> {
    let cpu = || Some(cpu_time(process?)?.as_secs_f64());
    let (begun, mut first) = (Instant::now(), None);
    while begun.elapsed() < LIMIT {
        let messages = tokio::task::block_in_place(|| end.messages())?;
        match &first {
            None if messages > 0 => {
                first = Some((messages, Instant::now(), cpu(), environment.postgres.cpu_seconds().await?));
            }
            Some((earlier, start, cpu_before, postgres_before)) if messages >= rows => {
                let (took, moved) = (start.elapsed(), as_f64(messages - earlier));
                let each = |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / moved);
                let postgres = environment.postgres.cpu_seconds().await?;
                if messages > rows {
                    return Err(Error::Refused(format!("{rows} rows became {messages} messages")));
                }
                return Ok(Some(Drain {
                    per_second: moved / took.as_secs_f64(),
                    process: each(*cpu_before, cpu()),
                    postgres: each(*postgres_before, postgres),
                    memory: process.and_then(resident_mib),
                }));
            }
            _ => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(None)
}

fn report(workload: &Workload, relays: &[Drain], debeziums: &[Drain], latencies: &Latencies) -> Section {
    let mut section = Section::default();
    let ratio = median(relays.iter().zip(debeziums).map(|(relay, peer)| relay.per_second / peer.per_second));
    section.ratios.push(Ratio::new("relay drain ÷ Debezium's drain", ratio, 1.0));
    section.figure("peers.relay_to_debezium", ratio);
    let mut table = Table::new(
        format!(
            "The relay beside Debezium: {} rows, medians of {} drains in turn; then {} events a second, both at the same time",
            workload.rows,
            relays.len(),
            latency::PER_SECOND
        ),
        [
            "what",
            "rows/s",
            "µs of CPU per row: process",
            "PostgreSQL",
            "resident MiB",
            "row to topic p50 ms",
            "p99 ms",
        ],
    );
    for (name, key, drains, latency) in [
        ("the relay", "relay", relays, latencies.relay),
        ("Debezium", "debezium", debeziums, latencies.debezium),
    ] {
        let rate = median(drains.iter().map(|drain| drain.per_second));
        let process = median(drains.iter().filter_map(|drain| drain.process));
        let postgres = median(drains.iter().filter_map(|drain| drain.postgres));
        let memory = median(drains.iter().filter_map(|drain| drain.memory));
        table.row([
            name.to_owned(),
            number(rate, 0),
            number(process, 1),
            number(postgres, 1),
            number(memory, 0),
            number(latency.p50, 1),
            number(latency.p99, 1),
        ]);
        let mut figure = |name, value| section.figure(format!("peers.{key}.{name}"), value);
        figure("rows_per_second", rate);
        figure("cpu_us_per_row", process);
        figure("postgres_cpu_us_per_row", postgres);
        figure("resident_mib", memory);
        figure("latency_p50_ms", latency.p50);
        figure("latency_p99_ms", latency.p99);
    }
    section.tables.push(table);
    section
}
