//! `conformance --target FILE`: runs the suite against a server, and prints the report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use conformance::{Group, Selection, Suite, Target};
use strum::VariantArray;

/// Tests over HTTP how a server handles idempotency keys
///
/// Exit code 0 means that no case failed, 1 that one did, 2 that the suite could not run.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The file that describes the server
    #[arg(long, required_unless_present = "list")]
    target: Option<PathBuf>,
    /// Run these groups only, such as `replay`
    #[arg(long, value_delimiter = ',', value_parser = group())]
    group: Vec<Group>,
    /// Run these cases only, by number
    #[arg(long, value_delimiter = ',')]
    case: Vec<u16>,
    /// Print the cases with their reasons and sources, and send nothing
    #[arg(long)]
    list: bool,
    /// Write the report as JSON to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the report as JUnit XML to this file
    #[arg(long)]
    junit: Option<PathBuf>,
}

/// Accepts the name of a group, and lists all of them in an error.
fn group() -> impl TypedValueParser<Value = Group> {
    let names = Group::VARIANTS.iter().map(<&'static str>::from);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Group>())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<bool, String> {
    let suite = Suite::of(&Selection { groups: arguments.group, numbers: arguments.case });
    let Some(target) = arguments.target.filter(|_| !arguments.list) else {
        list(&suite);
        return Ok(true);
    };
    let target = Target::read(&target, &BTreeMap::new()).map_err(|error| error.to_string())?;
    let report = suite.run(&target).await?;
    print!("{report}");
    if let Some(file) = arguments.json {
        write(&file, &format!("{:#}\n", report.as_json()))?;
    }
    if let Some(file) = arguments.junit {
        write(&file, &report.as_junit().map_err(|error| error.to_string())?)?;
    }
    Ok(report.is_conformant())
}

fn list(suite: &Suite) {
    for case in suite.cases() {
        let optional = if case.is_optional { ", optional" } else { "" };
        println!("{} {} [{}{optional}]\n    {}", case.number, case.title(), case.source, case.reason);
    }
}

fn write(file: &std::path::Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
