//! The rounds as medians. Ratios are taken within a round, because the machine's speed drifts between them.

use super::{Round, Sample};
use crate::load::{Load, median};
use crate::report::{Ratio, Section, Table, number};
use crate::workload::Workload;

/// One kind of load in all rounds.
type Kind = (&'static str, &'static str, fn(&Round) -> Option<Load>);

/// One kind of load, with its costs.
type Costly = (&'static str, &'static str, fn(&Round) -> Sample);

const KINDS: [Kind; 4] = [
    ("first executions", "executed", |round| Some(round.executed.load)),
    ("replays", "replayed", |round| Some(round.replayed.load)),
    ("bare statement", "statement", |round| Some(round.statement.load)),
    ("bare statement, pgbench", "pgbench", |round| round.pgbench),
];

pub(super) fn report(workload: &Workload, found: &[(usize, Vec<Round>)], memory: Option<f64>) -> Section {
    let mut section = Section::default();
    ratios(&mut section, found);
    loads(&mut section, workload, found);
    if let Some((connections, rounds)) = found.last() {
        costs(&mut section, *connections, rounds);
    }
    if let Some(memory) = memory {
        section.ratios.push(Ratio::at_most("resident memory of orders after that load, MiB", memory, 60.0));
        section.figure("place.orders_resident_mib", memory);
    }
    section
}

/// Half of the statement, and four fifths where there is a crowd that can share a commit.
fn target(connections: usize) -> f64 {
    if connections < 64 { 0.5 } else { 0.8 }
}

fn ratios(section: &mut Section, found: &[(usize, Vec<Round>)]) {
    for (connections, rounds) in found {
        let beside = |of: fn(&Round) -> Option<f64>| median(rounds.iter().filter_map(of));
        let statement = beside(|round| Some(round.executed.load.rate / round.statement.load.rate));
        let pgbench = beside(|round| Some(round.executed.load.rate / round.pgbench?.rate));
        let replays = beside(|round| Some(round.replayed.load.rate / round.executed.load.rate));
        let at = format!("at {connections} connections");
        section.ratios.push(Ratio::new(
            format!("POST ÷ bare statement {at}"),
            statement,
            target(*connections),
        ));
        if pgbench.is_finite() {
            section.ratios.push(Ratio::new(
                format!("POST ÷ bare statement by pgbench {at}"),
                pgbench,
                target(*connections),
            ));
        }
        section.ratios.push(Ratio::new(format!("replays ÷ first executions {at}"), replays, 5.0));
        section.figure(format!("place.{connections}.to_statement"), statement);
        section.figure(format!("place.{connections}.to_pgbench"), pgbench);
        section.figure(format!("place.{connections}.replays_to_executions"), replays);
    }
}

fn loads(section: &mut Section, workload: &Workload, found: &[(usize, Vec<Round>)]) {
    let title = format!(
        "POST /v1/orders, orders and its relay alone: medians of {} rounds of {} s",
        workload.rounds,
        workload.length.as_secs_f64()
    );
    let mut table = Table::new(title, ["what", "connections", "requests/s", "p50 ms", "p99 ms"]);
    for (connections, rounds) in found {
        for (name, short, of) in KINDS {
            let of =
                |figure: fn(&Load) -> f64| median(rounds.iter().filter_map(of).map(|load| figure(&load)));
            let (rate, p50, p99) = (of(|load| load.rate), of(|load| load.p50), of(|load| load.p99));
            if rate.is_finite() {
                table.row([
                    name.to_owned(),
                    connections.to_string(),
                    number(rate, 0),
                    number(p50, 2),
                    number(p99, 2),
                ]);
            }
            section.figure(format!("place.{connections}.{short}_per_second"), rate);
            section.figure(format!("place.{connections}.{short}_p50_ms"), p50);
            section.figure(format!("place.{connections}.{short}_p99_ms"), p99);
        }
    }
    section.tables.push(table);
}

fn costs(section: &mut Section, connections: usize, rounds: &[Round]) {
    let title = format!("What one request costs at {connections} connections: µs of CPU, bytes of WAL");
    let mut table = Table::new(title, ["what", "service", "PostgreSQL", "load generator", "WAL"]);
    let kinds: [Costly; 3] = [
        ("first execution", "executed", |round| round.executed),
        ("replay", "replayed", |round| round.replayed),
        ("bare statement", "statement", |round| round.statement),
    ];
    for (name, short, of) in kinds {
        let of =
            |figure: fn(&Sample) -> Option<f64>| median(rounds.iter().filter_map(|round| figure(&of(round))));
        let (service, postgres) = (of(|sample| sample.service), of(|sample| sample.postgres));
        let (generator, wal) = (of(|sample| sample.generator), of(|sample| Some(sample.wal)));
        table.row([
            name.to_owned(),
            number(service, 0),
            number(postgres, 0),
            number(generator, 0),
            number(wal, 0),
        ]);
        section.figure(format!("place.{connections}.{short}_service_cpu_us"), service);
        section.figure(format!("place.{connections}.{short}_postgres_cpu_us"), postgres);
        section.figure(format!("place.{connections}.{short}_generator_cpu_us"), generator);
        section.figure(format!("place.{connections}.{short}_wal_bytes"), wal);
    }
    section.tables.push(table);
}
