#![doc = include_str!("../README.md")]

mod api;
mod audit;
mod books;
mod kafka;
mod report;
mod stack;
mod steps;
mod trouble;
mod wait;
mod world;

use std::process::ExitCode;

use clap::Parser;

use report::{Report, Screen};
use stack::{Part, Stack};
use trouble::Trouble;
use world::World;

/// Starts orders, breaks what can break, and checks that each effect happened once.
///
/// Run it with `./dev demo`, which starts what is needed. Exit code 0 means that everything holds.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Print the audit queries, each with the command that asks it, and do nothing else
    #[arg(long)]
    show_sql: bool,
    /// Leave everything running afterwards (`./dev demo --keep` does)
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.show_sql {
        print!("{}", audit::as_commands());
        return ExitCode::SUCCESS;
    }
    match demonstrate(arguments.keep).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("demo: {trouble}");
            ExitCode::from(2)
        }
    }
}

/// Takes all steps. Returns whether everything holds.
async fn demonstrate(keep: bool) -> Result<bool, Trouble> {
    let stack = Stack::from_environment()?;
    let world = World::new(&stack).await?;
    let mut report = Report::new(Screen::of_stdout());
    let ports = Part::PROGRAMS.map(|part| format!("{} :{}", part.name(), stack.port(part)));
    report.say(&format!("Idem demo, tenant {}; {}\n", world.tenant, ports.join(", ")));
    steps::all(&world, &mut report).await;
    let holds = report.close();
    let before = if keep { "Everything still runs" } else { "The data stay: ./dev up" };
    println!("{before}; then look with ./dev psql orders, ./dev topics, ./dev demo --show-sql.");
    Ok(holds)
}
