//! Ninety days: each day has its rows, the relay publishes them, and the housekeeping of the program runs once. Then the hot paths are
//! measured beside those of an empty database.
//!
//! PostgreSQL runs under libfaketime, and its clock moves by a day at a time.

use std::time::Duration;

use super::ground::Ground;
use super::{keys, messages};
use crate::environment::{Clock, Environment};
use crate::load::{as_f64, median};
use crate::report::Section;
use crate::subjects::inbox::TABLE;
use crate::subjects::orders::stock_catalogue;
use crate::workload::Workload;
use harness::{Context, Part, Result, until};

const DAYS: usize = 90;
/// Events that the relay publishes for a measurement.
const EVENTS: usize = 20_000;
/// The hot paths: requests, and the work of PostgreSQL for an event of the relay and a message of the inbox.
const HOT_PATHS: [&str; 4] = ["execution_p50_ms", "replay_p50_ms", "event_us", "message_us"];
/// The longest that the work of one day may take.
const LIMIT: Duration = Duration::from_mins(2);

/// No hot path may cost more than this, compared with an empty database.
const HOT_PATH_LIMIT: f64 = 1.2;
/// The greatest size in the last thirty days, compared with that in the thirty days before.
const SIZE_LIMIT: f64 = 1.05;

/// The tables whose rows are deleted, as PostgreSQL names their partitions.
const TABLES: [&str; 6] = [
    "idempotency_record",
    "idempotency_snapshot",
    "idempotency_tombstone",
    "idempotency_operation",
    "outbox_event",
    "inbox_message",
];

/// The bytes of each table with its partitions and indexes. A table without partitions has no partition tree.
const SIZES: &str = "\
    SELECT (pg_total_relation_size(name::regclass) \
              + coalesce((SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(name::regclass) WHERE isleaf), 0))::float8 \
      FROM unnest($1::text[]) WITH ORDINALITY AS named (name, position) ORDER BY position";

/// Whether every job has succeeded since a time, and every event is published.
const IS_DONE: &str = "\
    SELECT (SELECT count(*) >= 6 AND bool_and(coalesce(last_succeeded_at >= $1::text::timestamptz, false)) FROM job_lease) \
       AND NOT EXISTS (SELECT FROM outbox_cursor AS relay, outbox_event AS event \
                        WHERE event.id > relay.position OR relay.gaps @> event.id)";

/// The statement that loads rows of the outbox.
const PAGE: [&str; 1] = ["SELECT%\"outbox_event\".\"payload\"%"];

/// Lives through the days, and measures at their end.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    let mut clock = environment.clock()?;
    let mut aged = prepare(environment, "aged").await?;
    let mut sizes = Vec::new();
    for day in 1..=DAYS {
        live_through_a_day(&mut aged, &mut clock, workload.rows_per_day).await?;
        let today = read_sizes(&aged).await?;
        eprintln!("days: {day}: {:.1} MB", today.iter().sum::<f64>() / 1e6);
        sizes.push(today);
    }
    let mut empty = prepare(environment, "empty").await?;
    empty.run("SELECT outbox_make_partitions(1)").await?;
    empty.analyse().await?;
    let mut rounds = Vec::new();
    for round in 0..=workload.rounds {
        let before = hot_paths(&mut empty, round, workload).await?;
        let after = hot_paths(&mut aged, round, workload).await?;
        if round > 0 {
            rounds.push((before, after)); // the first one warms up
        }
    }
    Ok(report(&sizes, &rounds))
}

async fn prepare<'e>(environment: &'e Environment, name: &str) -> Result<Ground<'e>> {
    let ground = Ground::prepare(environment, Part::ORDERS, name).await?;
    environment.make_topic(&ground.topics).await?;
    let owner = ground.database.owner().await?;
    stock_catalogue(&owner).await?;
    owner.run(TABLE).await?;
    Ok(ground)
}

/// The relay has the housekeeping of every process, and starts sooner than `serve`.
async fn live_through_a_day(ground: &mut Ground<'_>, clock: &mut Clock, rows: usize) -> Result<()> {
    clock.advance_a_day().await?;
    let owner = ground.database.owner().await?;
    let now: String = owner.one("SELECT clock_timestamp()::text").await?.get(0);
    ground.add(include_str!("sql/day.sql"), rows).await?;
    let mut relay = ground.start(Part::ORDERS.relay(1), &[])?;
    until("the events are published and every job has run", LIMIT, "the log of the relay", async || {
        let is_done = owner.query_one(IS_DONE, &[&now]).await.context("look at the jobs")?;
        Ok(if is_done.get(0) { Ok(()) } else { Err(format!("not yet at {now}")) })
    })
    .await?;
    relay.stop().await?;
    ground.analyse().await
}

async fn read_sizes(ground: &Ground<'_>) -> Result<Vec<f64>> {
    let owner = ground.database.owner().await?;
    let names: Vec<&str> = TABLES.into();
    let rows = owner.query(SIZES, &[&names]).await.context("read the sizes of tables")?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The cost of each hot path.
type HotPaths = [f64; HOT_PATHS.len()];

async fn hot_paths(ground: &mut Ground<'_>, round: usize, workload: &Workload) -> Result<HotPaths> {
    let requests = keys::requests(ground, workload.length).await?;
    ground.add(include_str!("sql/backlog.sql"), EVENTS).await?;
    ground.meter.reset().await?;
    let mut relay = ground.start(Part::ORDERS.relay(1), &[])?;
    let event = ground.until(&PAGE, |cost| cost.rows >= as_f64(EVENTS)).await?;
    relay.stop().await?;
    let name = ground.topics.prefixed("").replace('.', "-");
    let topics = ground.environment.topics(&format!("{name}{round}"));
    let message = messages::apply(ground, &topics).await?;
    Ok([
        requests.execution.0.p50,
        requests.replay.0.p50,
        event.micros / event.rows,
        message.micros / as_f64(messages::MESSAGES),
    ])
}

fn report(sizes: &[Vec<f64>], rounds: &[(HotPaths, HotPaths)]) -> Section {
    let (mut section, mut worst_size, mut worst_path) = (Section::default(), f64::NAN, f64::NAN);
    for (position, table) in TABLES.into_iter().enumerate() {
        let per_day: Vec<f64> = sizes.iter().filter_map(|day| day.get(position).copied()).collect();
        for day in [1, 30, 60, 90] {
            let bytes = per_day.get(day - 1).copied().unwrap_or(f64::NAN);
            section.figure(format!("days.{table}.day_{day:02}_mb"), bytes / 1e6);
        }
        let greatest = |days: std::ops::Range<usize>| {
            per_day.get(days).into_iter().flatten().copied().fold(f64::NAN, f64::max)
        };
        worst_size = worst_size.max(greatest(60..90) / greatest(30..60));
    }
    for (position, path) in HOT_PATHS.into_iter().enumerate() {
        let of = |paths: &HotPaths| paths.get(position).copied().unwrap_or(f64::NAN);
        let grown = median(rounds.iter().map(|(empty, aged)| of(aged) / of(empty)));
        section.figure(format!("days.empty.{path}"), median(rounds.iter().map(|round| of(&round.0))));
        section.figure(format!("days.aged.{path}"), median(rounds.iter().map(|round| of(&round.1))));
        worst_path = worst_path.max(grown);
    }
    section.at_most("days.worst_last_30_to_30_before", worst_size, SIZE_LIMIT);
    section.at_most("days.worst_aged_to_empty", worst_path, HOT_PATH_LIMIT);
    section
}
