#![doc = include_str!("../README.md")]

mod environment;
mod load;
mod report;
mod subjects;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use environment::{Environment, Servers};
use harness::{Context, Error, Result};
use report::{Report, Section};
use workload::Workload;

/// Measures what the guarantees cost, beside the bare statement and the bare producer.
///
/// Run it with `./dev bench`, which builds release programs and starts the servers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Fewer and shorter rounds: a minute or two, for a first look; the figures scatter
    #[arg(long)]
    quick: bool,
    /// Only these subjects
    #[arg(long, value_enum, num_args = 1.., value_name = "NAME")]
    only: Vec<Subject>,
    /// Connections at the same time, for `place`
    #[arg(long, num_args = 1.., value_name = "NUMBER", default_values_t = [1, 16, 64])]
    connections: Vec<usize>,
    /// Write every figure to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    servers: Servers,
}

/// The subjects that can be measured alone.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// POST /v1/orders, first executions and replays, beside the bare statement
    Place,
    /// The relay's drain, beside a bare producer
    Relay,
    /// Effects of an inbox
    Inbox,
    /// POST to confirmed, orders per second through the whole saga, memory, ready times
    Journey,
    /// The whole saga with unequal orders: a hot SKU, a hot tenant, poison, a slow processor
    Scenarios,
    /// POST /v1/orders beside 600 clients that hold connections
    Hostile,
    /// The cost of a unit on tables of up to 10 million rows; half an hour, and therefore only if it is named
    Growth,
    /// Ninety days with a million keys and messages: the sizes of tables, and the hot paths; half an hour, and only if it is named
    Days,
}

impl Subject {
    async fn measure(self, environment: &Environment, workload: &Workload) -> Result<Section> {
        match self {
            Self::Place => subjects::place::measure(environment, workload).await,
            Self::Relay => subjects::relay::measure(environment, workload).await,
            Self::Inbox => subjects::inbox::measure(environment, workload).await,
            Self::Journey => subjects::journey::measure(environment, workload).await,
            Self::Scenarios => subjects::scenarios::measure(environment, workload).await,
            Self::Hostile => subjects::hostile::measure(environment, workload).await,
            Self::Growth => subjects::growth::measure(environment, workload).await,
            Self::Days => subjects::growth::days(environment, workload).await,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("wait for SIGINT")?;
    let environment = Environment::prepare(arguments.servers.clone()).await?;
    let interrupted = || Err(Error::Refused("interrupted".to_owned()));
    let measured = tokio::select! {
        measured = measure(arguments, &environment) => measured,
        _ = terminate.recv() => interrupted(),
        _ = interrupt.recv() => interrupted(),
    };
    // The programs were killed when they were dropped. Databases and topics are removed in either case.
    let cleaned = environment.clean().await;
    let report = measured?;
    cleaned?;
    print!("\n{}", report.as_text());
    if let Some(file) = &arguments.json {
        let json = serde_json::to_string_pretty(&report).context("write the figures as JSON")?;
        std::fs::write(file, json).context(format!("write {}", file.display()))?;
    }
    Ok(())
}

async fn measure(arguments: &Arguments, environment: &Environment) -> Result<Report> {
    let workload = if arguments.quick { Workload::quick() } else { Workload::full() };
    let workload = Workload { connections: arguments.connections.clone(), ..workload };
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut report = Report::new(environment.machine(), format!("./dev bench {}", command.join(" ")));
    for subject in Subject::value_variants() {
        let is_wanted = if arguments.only.is_empty() {
            ![Subject::Growth, Subject::Days].contains(subject)
        } else {
            arguments.only.contains(subject)
        };
        if is_wanted {
            report.add(subject.measure(environment, &workload).await?);
            // Otherwise autovacuum would work on the tables of this subject while the next one is measured.
            environment.postgres.remove_all().await?;
        }
    }
    Ok(report)
}
