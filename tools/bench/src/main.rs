#![doc = include_str!("../README.md")]

mod effort;
mod ground;
mod load;
mod parts;
mod report;
mod trouble;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use effort::Effort;
use ground::{Ground, Places};
use report::{Report, document};
use trouble::{Doing, Trouble};

/// Measures what the guarantees cost, beside the bare statement and the bare producer.
///
/// Run it with `./dev bench`, which builds release programs and starts the servers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Fewer and shorter rounds: a minute or two, for a first look; the figures scatter
    #[arg(long)]
    quick: bool,
    /// Only these parts
    #[arg(long, value_enum, num_args = 1.., value_name = "NAME")]
    only: Vec<Part>,
    /// Connections at the same time, for `place`
    #[arg(long, num_args = 1.., value_name = "NUMBER", default_values_t = [1, 16, 64])]
    connections: Vec<usize>,
    /// Write every figure to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Replace the table in this document (`./dev bench --write` names docs/performance.md)
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    places: Places,
}

/// What can be measured on its own.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// POST /v1/orders, first executions and replays, beside the bare statement
    Place,
    /// The relay's drain, beside a bare producer
    Relay,
    /// Effects of an inbox
    Inbox,
    /// POST to confirmed, orders per second through the whole saga, memory, ready times
    Journey,
}

impl Part {
    async fn measure(self, ground: &Ground, effort: &Effort) -> Result<report::Part, Trouble> {
        match self {
            Self::Place => parts::place::measure(ground, effort).await,
            Self::Relay => parts::relay::measure(ground, effort).await,
            Self::Inbox => parts::inbox::measure(ground, effort).await,
            Self::Journey => parts::journey::measure(ground, effort).await,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("bench: {trouble}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Trouble> {
    let ground = Ground::prepare(&arguments.places).await?;
    let measured = tokio::select! {
        measured = measure(arguments, &ground) => measured,
        () = told_to_stop() => Err(Trouble::Interrupted),
    };
    // Programs have ended with what was dropped; databases and topics go in either case.
    let cleaned = ground.clean().await;
    let report = measured?;
    cleaned?;
    print!("\n{}", report.as_text());
    if let Some(file) = &arguments.json {
        let json = serde_json::to_string_pretty(&report).doing("write the figures as JSON")?;
        std::fs::write(file, json).doing(format!("write {}", file.display()))?;
    }
    if let Some(file) = &arguments.write {
        document::replace_table(file, &report.as_markdown())?;
    }
    Ok(())
}

async fn measure(arguments: &Arguments, ground: &Ground) -> Result<Report, Trouble> {
    let effort = if arguments.quick { Effort::quick() } else { Effort::full() };
    let effort = Effort { connections: arguments.connections.clone(), ..effort };
    let mut report = Report::new(ground.facts(), command_line(arguments));
    for part in Part::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(part) {
            report.add(part.measure(ground, &effort).await?);
        }
    }
    Ok(report)
}

/// How to measure the same again.
fn command_line(arguments: &Arguments) -> String {
    let mut line = "./dev bench".to_owned();
    if arguments.quick {
        line.push_str(" --quick");
    }
    if arguments.connections != [1, 16, 64] {
        let numbers: Vec<String> = arguments.connections.iter().map(ToString::to_string).collect();
        line = format!("{line} --connections {}", numbers.join(" "));
    }
    let names = arguments.only.iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
    if names.is_empty() { line } else { format!("{line} --only {}", names.join(" ")) }
}

async fn told_to_stop() {
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        }
        _ => std::future::pending().await,
    }
}
