//! The program `operator`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use operator::{Audit, Explain};

/// Reads an installation, and changes nothing: every session is read-only by the server.
///
/// Exit code 0: all was read, and no promise is broken. 1: a promise is broken, a part could not be read, or there is no such order.
/// 2: the command line is wrong.
#[derive(Parser)]
#[command(name = "operator", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print everything that is known about one order, in the order of time
    Explain(Explain),
    /// Ask every question of the audit
    Audit(Audit),
}

#[tokio::main]
async fn main() -> ExitCode {
    let (text, is_well) = match Arguments::parse().command {
        Command::Explain(explain) => Box::pin(explain.run()).await, // large, and larger with each service
        Command::Audit(audit) => audit.run().await,
    };
    print!("{text}");
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
