//! The relay's drain: a backlog from the table to the topic, beside a producer with the same records in memory.

pub(crate) mod backlog;

use std::time::{Duration, Instant};

use super::bare_producer;
use crate::environment::{Environment, Session, TestBed, cpu_seconds};
use crate::load::{as_f64, median};
use crate::report::Section;
use crate::workload::Workload;
use envelope::Topics;
use harness::{Error, Part, Program, Result};

/// The longest that one drain may take.
const LIMIT: Duration = Duration::from_mins(2);

/// One drain by the relay.
struct Drain {
    rate: f64,
    /// Microseconds of processor time for each row: of the relay, of PostgreSQL.
    relay: Option<f64>,
    postgres: Option<f64>,
}

/// Measures drains by the relay and by the bare producer in turn.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    eprintln!("relay: filling an outbox with {} rows", workload.rows);
    let database = environment.postgres.database("relay").await?;
    let names = environment.topics("migrating");
    environment.migrate(Part::ORDERS, &database, &names).await?;
    let owner = database.owner().await?;
    backlog::fill(&owner, workload.rows).await?;
    let (mut drains, mut producers, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=workload.drains {
        let (took, records) = backlog::read(&owner).await?;
        let drain = drain(environment, &database, &owner, round, workload.rows).await?;
        let produced = produce(environment, round, records).await?;
        if round == 0 {
            continue; // warms up
        }
        let rows = rate(workload.rows, took);
        eprintln!("relay: drain {:.0}/s, bare producer {produced:.0}/s, bare read {rows:.0}/s", drain.rate);
        drains.push(drain);
        producers.push(produced);
        reads.push(rows);
    }
    Ok(report(&drains, &producers, &reads))
}

fn rate(rows: usize, took: Duration) -> f64 {
    as_f64(rows) / took.as_secs_f64()
}

/// From the moment the relay has the lease until every row is in the topic. The cursor follows up to 250 ms later.
async fn drain(
    environment: &Environment,
    database: &TestBed,
    owner: &Session,
    round: usize,
    rows: usize,
) -> Result<Drain> {
    let topics = environment.topics(&format!("drain-{round}"));
    environment.make_topic(&topics).await?;
    backlog::rewind(owner).await?;
    let before = backlog::epoch(owner).await?;
    let settings = environment.service_settings(database, &topics);
    // The database belongs to the deployment of the last drain, and a relay of another one would wait.
    let adopt = ["adopt", "--by", "bench", "--reason", "another drain"];
    environment.run(Part::ORDERS.instance(1), &adopt, &settings).await?.expect_success("orders adopt")?;
    let mut relay = environment.start(Part::ORDERS.relay(1), &settings)?;
    let begun = Instant::now();
    while backlog::epoch(owner).await? == before {
        pause(begun, &relay, "has not taken the lease")?.await;
    }
    let (start, postgres) = (Instant::now(), environment.postgres.cpu_seconds().await?);
    let cpu = cpu_seconds(&relay);
    while environment.messages(&topics).await? < rows {
        pause(begun, &relay, "has not drained the outbox")?.await;
    }
    let took = start.elapsed();
    let each = |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / as_f64(rows));
    let drain = Drain {
        rate: rate(rows, took),
        relay: each(cpu, cpu_seconds(&relay)),
        postgres: each(postgres, environment.postgres.cpu_seconds().await?),
    };
    relay.stop().await?;
    count(environment, &topics, rows).await?;
    Ok(drain)
}

fn pause(begun: Instant, relay: &Program, what: &str) -> Result<tokio::time::Sleep> {
    if begun.elapsed() > LIMIT {
        return Err(relay.error(what));
    }
    Ok(tokio::time::sleep(Duration::from_millis(4)))
}

async fn produce(
    environment: &Environment,
    round: usize,
    records: Vec<bare_producer::OutgoingRecord>,
) -> Result<f64> {
    let topics = environment.topics(&format!("bare-{round}"));
    let topic = environment.make_topic(&topics).await?;
    let rows = records.len();
    // The producer blocks its thread.
    let took = tokio::task::block_in_place(|| bare_producer::publish(environment, &topic, &records))?;
    count(environment, &topics, rows).await?;
    Ok(rate(rows, took))
}

/// Fails unless the topic has each message once.
async fn count(environment: &Environment, topics: &Topics, rows: usize) -> Result<()> {
    let messages = environment.messages(topics).await?;
    if messages == rows {
        return Ok(());
    }
    Err(Error::Refused(format!("{rows} rows became {messages} messages")))
}

fn report(drains: &[Drain], producers: &[f64], reads: &[f64]) -> Section {
    let mut section = Section::default();
    let to_producer = drains.iter().zip(producers).map(|(drain, bare)| drain.rate / bare);
    section.at_least("relay.to_producer", median(to_producer), 0.9);
    section.figure("relay.drain_per_second", median(drains.iter().map(|drain| drain.rate)));
    section.figure("relay.bare_producer_per_second", median(producers.iter().copied()));
    section.figure("relay.bare_read_per_second", median(reads.iter().copied()));
    section.figure("relay.cpu_us_per_row", median(drains.iter().filter_map(|drain| drain.relay)));
    section.figure("relay.postgres_cpu_us_per_row", median(drains.iter().filter_map(|drain| drain.postgres)));
    section
}
