#![doc = include_str!("../README.md")]

mod clients;
mod demo;
mod platform;
mod queries;
mod report;
mod stack;
mod steps;
mod traffic;

use std::process::ExitCode;

use clap::Parser;
use harness::{Part, Result};

use demo::Demo;
use platform::{Compose, Local, Platform};
use report::{Report, Screen};
use stack::Stack;
use steps::Load;

/// Starts orders, breaks what can break, and checks that each effect happened once.
///
/// Run it with `./dev demo`, which starts what is needed. Exit code 0 means that every check holds.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Print the audit queries, each with its command, and do nothing else
    #[arg(long)]
    show_sql: bool,
    /// Leave everything running afterwards (`./dev demo --keep` does)
    #[arg(long)]
    keep: bool,
    /// How many instances of each service run (`./dev demo --instances 2` starts as many)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    instances: u8,
    /// Run against docker compose (`./dev demo --compose` starts it)
    #[arg(long, conflicts_with = "instances")]
    compose: bool,
    /// Check the books after a load of these tenants, and do nothing else (`./dev load` does)
    #[arg(long, value_name = "TENANTS", value_delimiter = ',', requires = "orders")]
    audit: Vec<String>,
    /// The number of orders that the clients of the load have responses for
    #[arg(long, requires = "audit")]
    orders: Option<usize>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.show_sql {
        print!("{}", audits::as_commands());
        return ExitCode::SUCCESS;
    }
    match run(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs all steps. Returns whether every check holds.
async fn run(arguments: &Arguments) -> Result<bool> {
    let platform: Box<dyn Platform> = if arguments.compose {
        Box::new(Compose::from_environment()?)
    } else {
        Box::new(Local::from_environment(arguments.instances.into())?)
    };
    let stack = Stack::new(platform);
    let demo = Demo::new(&stack).await?;
    let mut report = Report::new(Screen::of_stdout(), Box::new(|text| stack.platform.translate_hint(text)));
    if let Some(accepted) = arguments.orders {
        let load = Load { tenants: &arguments.audit, accepted };
        report.step("The books after the load", async |step| load.check(&demo, step).await).await;
        return Ok(report.close());
    }
    let mut parts = Part::PROGRAMS;
    parts.reverse();
    let addresses = parts.map(|part| format!("{} {}", part.name(), stack.addresses(part)));
    report.say(&format!("Idem demo, tenant {}; {}\n", demo.tenant, addresses.join(", ")));
    steps::all(&demo, &mut report).await;
    let holds = report.close();
    let state = if arguments.keep { "Everything still runs" } else { "The data remain; start with ./dev up" };
    let next = format!("{state}. Look with ./dev psql orders, ./dev topics, ./dev demo --show-sql.");
    println!("{}", stack.platform.translate_hint(&next));
    Ok(holds)
}
