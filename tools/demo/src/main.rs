#![doc = include_str!("../README.md")]

mod api;
mod books;
mod crowd;
mod kafka;
mod part;
mod process;
mod report;
mod signature;
mod stack;
mod steps;
mod surroundings;
mod traffic;
mod trouble;
mod wait;
mod world;

use std::process::ExitCode;

use clap::Parser;

use part::Part;
use report::{Report, Screen};
use stack::Stack;
use surroundings::{Compose, Local, Surroundings};
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
    /// How many instances of each service run (`./dev demo --instances 2` starts as many)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    instances: u8,
    /// Play against docker compose (`./dev demo --compose` starts it)
    #[arg(long, conflicts_with = "instances")]
    compose: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.show_sql {
        print!("{}", audits::as_commands());
        return ExitCode::SUCCESS;
    }
    match demonstrate(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("demo: {trouble}");
            ExitCode::from(2)
        }
    }
}

/// Takes all steps. Returns whether everything holds.
async fn demonstrate(arguments: &Arguments) -> Result<bool, Trouble> {
    let around: Box<dyn Surroundings> = if arguments.compose {
        Box::new(Compose::from_environment()?)
    } else {
        Box::new(Local::from_environment(arguments.instances.into())?)
    };
    let stack = Stack::new(around);
    let world = World::new(&stack).await?;
    let mut report = Report::new(Screen::of_stdout(), Box::new(|text| stack.around.in_its_words(text)));
    let places = Part::PROGRAMS.map(|part| format!("{} {}", part.name(), stack.addresses(part)));
    report.say(&format!("Idem demo, tenant {}; {}\n", world.tenant, places.join(", ")));
    steps::all(&world, &mut report).await;
    let holds = report.close();
    let before = if arguments.keep { "Everything still runs" } else { "The data stay: ./dev up" };
    let words = format!("{before}; then look with ./dev psql orders, ./dev topics, ./dev demo --show-sql.");
    println!("{}", stack.around.in_its_words(&words));
    Ok(holds)
}
