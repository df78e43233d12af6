//! The relay's drain: a backlog from the table to the topic, beside a producer that has the same records in its hand.

mod backlog;

use std::time::{Duration, Instant};

use super::bare;
use crate::effort::Effort;
use crate::ground::{Ground, Program, Session, TestBed, Watcher, cpu_seconds, settings_of_service};
use crate::load::median;
use crate::report::{Part, Ratio, Table, number};
use crate::trouble::Trouble;

/// The longest that one drain may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// One drain by the relay.
struct Drain {
    rate: f64,
    /// Microseconds of processor time for each row: of the relay, of PostgreSQL.
    relay: Option<f64>,
    postgres: Option<f64>,
}

/// Measures drains, the two kinds in turn.
pub(crate) async fn measure(ground: &Ground, effort: &Effort) -> Result<Part, Trouble> {
    eprintln!("relay: filling an outbox with {} rows", effort.rows);
    let database = ground.postgres.database("relay").await?;
    let names = ground.topics("migrating");
    Program::run(ground, "orders", "migrate", &settings_of_service(ground, &database, &names)).await?;
    let owner = database.owner().await?;
    backlog::fill(&owner, effort.rows).await?;
    let (mut drains, mut producers, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=effort.drains {
        let (took, letters) = backlog::read(&owner).await?;
        let drain = drain(ground, &database, &owner, round, effort.rows).await?;
        let produced = produce(ground, round, letters).await?;
        if round == 0 {
            continue; // to warm up
        }
        let rows = rate(effort.rows, took);
        eprintln!("relay: drain {:.0}/s, bare producer {produced:.0}/s, bare read {rows:.0}/s", drain.rate);
        drains.push(drain);
        producers.push(produced);
        reads.push(rows);
    }
    Ok(report(effort, &drains, &producers, &reads))
}

fn rate(rows: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(rows).unwrap_or(u32::MAX)) / took.as_secs_f64()
}

/// From the moment when a relay has the lease, to the moment when the cursor says that everything is acknowledged.
async fn drain(
    ground: &Ground,
    database: &TestBed,
    owner: &Session,
    round: usize,
    rows: usize,
) -> Result<Drain, Trouble> {
    let topics = ground.topics(&format!("drain-{round}"));
    let topic = ground.make_topic(&topics).await?;
    backlog::rewind(owner).await?;
    let before = backlog::epoch(owner).await?;
    let settings: Vec<_> = settings_of_service(ground, database, &topics);
    let relay = Program::start(ground, "orders", "relay", &settings)?;
    let begun = Instant::now();
    while backlog::epoch(owner).await? == before {
        pause(begun, &relay, "nobody has taken the lease")?.await;
    }
    let (start, postgres) = (Instant::now(), ground.postgres.cpu_seconds().await?);
    let cpu = cpu_seconds(relay.pid());
    while !backlog::drained(owner).await? {
        pause(begun, &relay, "the outbox is not drained")?.await;
    }
    let took = start.elapsed();
    let each = |before: Option<f64>, after: Option<f64>| {
        Some((after? - before?) * 1e6 / f64::from(u32::try_from(rows).unwrap_or(u32::MAX)))
    };
    let drain = Drain {
        rate: rate(rows, took),
        relay: each(cpu, cpu_seconds(relay.pid())),
        postgres: each(postgres, ground.postgres.cpu_seconds().await?),
    };
    relay.stop().await?;
    count(ground, &topic, rows)?;
    Ok(drain)
}

fn pause(begun: Instant, relay: &Program, what: &str) -> Result<tokio::time::Sleep, Trouble> {
    if begun.elapsed() > PATIENCE {
        return Err(relay.trouble(what));
    }
    Ok(tokio::time::sleep(Duration::from_millis(4)))
}

async fn produce(ground: &Ground, round: usize, letters: Vec<bare::Letter>) -> Result<f64, Trouble> {
    let topics = ground.topics(&format!("bare-{round}"));
    let topic = ground.make_topic(&topics).await?;
    let rows = letters.len();
    // It blocks, as it has nothing else to do.
    let took = tokio::task::block_in_place(|| bare::publish(ground, &topic, &letters))?;
    count(ground, &topic, rows)?;
    Ok(rate(rows, took))
}

/// Whether the topic has each message once: no fault has happened.
fn count(ground: &Ground, topic: &str, rows: usize) -> Result<(), Trouble> {
    let messages = Watcher::of(ground, topic)?.messages()?;
    if messages == rows {
        return Ok(());
    }
    Err(Trouble::Refused(format!("{rows} rows became {messages} messages in {topic}")))
}

fn report(effort: &Effort, drains: &[Drain], producers: &[f64], reads: &[f64]) -> Part {
    let mut part = Part::default();
    let drained = median(drains.iter().map(|drain| drain.rate));
    let (produced, read) = (median(producers.iter().copied()), median(reads.iter().copied()));
    let to_producer = median(drains.iter().zip(producers).map(|(drain, bare)| drain.rate / bare));
    let to_lesser = median(
        drains.iter().zip(producers).zip(reads).map(|((drain, bare), read)| drain.rate / bare.min(*read)),
    );
    part.ratios.push(Ratio::new("relay drain ÷ bare producer", to_producer, 0.5));
    part.ratios.push(Ratio::new("relay drain ÷ the lesser of bare producer and bare read", to_lesser, 0.8));
    let mut table = Table::new(
        format!("Relay: {} rows, medians of {} drains in turn", effort.rows, drains.len()),
        ["what", "rows/s", "µs of CPU per row: relay", "PostgreSQL"],
    );
    let relay = median(drains.iter().filter_map(|drain| drain.relay));
    let postgres = median(drains.iter().filter_map(|drain| drain.postgres));
    table.row(["relay drain".to_owned(), number(drained, 0), number(relay, 1), number(postgres, 1)]);
    table.row(["bare producer".to_owned(), number(produced, 0), String::new(), String::new()]);
    table.row(["bare read".to_owned(), number(read, 0), String::new(), String::new()]);
    part.tables.push(table);
    part.figure("relay.drain_per_second", drained);
    part.figure("relay.bare_producer_per_second", produced);
    part.figure("relay.bare_read_per_second", read);
    part.figure("relay.cpu_us_per_row", relay);
    part.figure("relay.postgres_cpu_us_per_row", postgres);
    part
}
