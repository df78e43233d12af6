#![doc = include_str!("../README.md")]

mod ask;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stripe_sim::{LogFormat, Provider, Settings, WrongSettings};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// A stand-in for the card processor. Settings come from the environment: see services/provider/README.md.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the processor's protocol until SIGTERM or SIGINT.
    Serve,
    /// Bring the tables up to date and exit.
    Migrate,
    /// Ask the instance that runs with this configuration whether it is ready; exit code 0 if it is.
    Health,
}

/// The configuration is wrong: nothing was tried.
const WRONG_SETTINGS: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match arguments.command {
        Command::Serve => runtime.block_on(serve()),
        Command::Migrate => runtime.block_on(migrate()),
        Command::Health => health(),
    }
}

async fn serve() -> ExitCode {
    let settings = match Settings::read(variable) {
        Ok(settings) => settings,
        Err(faults) => return misconfigured(&faults),
    };
    log(&settings.log_level, settings.log_format);
    let provider = match Provider::start(&settings) {
        Ok(provider) => provider,
        Err(error) => return failed(&error),
    };
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (mut terminate, mut interrupt) = match (terminate, interrupt) {
        (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
        (Err(error), _) | (_, Err(error)) => return failed(&error),
    };
    let handle = provider.handle();
    let stopped = async {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping: what is under way comes to its end");
        handle.stop(true).await;
    };
    match tokio::join!(provider.run(), stopped).0 {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn migrate() -> ExitCode {
    let url = match Settings::read_for_migration(variable) {
        Ok(url) => url,
        Err(faults) => return misconfigured(&faults),
    };
    log("info", LogFormat::Pretty);
    match stripe_sim::migrate(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn health() -> ExitCode {
    let settings = match Settings::read(variable) {
        Ok(settings) => settings,
        Err(faults) => return misconfigured(&faults),
    };
    let address = SocketAddr::new(settings.host, settings.port);
    match ask::is_ready(address) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("stripe-sim: the instance at {address} is not ready");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("stripe-sim: nothing answers at {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An empty variable is an absent one, as shells and compose files make them.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// actix's own lines are left out unless they are asked for: each withheld answer would be an error there.
const QUIET: &str = "actix_server=warn,actix_http=off";

fn log(level: &str, format: LogFormat) {
    let logger = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{QUIET},{level}")))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Pretty => logger.init(),
        LogFormat::Json => logger.json().flatten_event(true).init(),
    }
}

/// Printed and not logged: how to log is among the settings.
fn misconfigured(faults: &WrongSettings) -> ExitCode {
    eprintln!("stripe-sim: {faults}");
    ExitCode::from(WRONG_SETTINGS)
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("stripe-sim: {error}");
    ExitCode::FAILURE
}
