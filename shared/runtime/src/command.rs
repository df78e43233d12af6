//! The command line, the same for every service.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::runtime::Builder;

use crate::config::{Config, Faults, Purpose, defaults, environment};
use crate::{RunError, Service, ask, document, operator, schema, serve, telemetry};

/// The configuration is wrong; clap uses it for a wrong command line, too.
const MISCONFIGURED: u8 = 2;

#[derive(Parser)]
#[command(version, subcommand_required = true, arg_required_else_help = true)]
struct CommandLine<Own: Subcommand> {
    #[command(subcommand)]
    command: Command<Own>,
}

#[derive(Subcommand)]
enum Command<Own: Subcommand> {
    /// Serve HTTP, react to messages, and publish events
    Serve,
    /// Publish events and nothing else, for instances that run without a relay of their own
    Relay,
    /// Bring the tables up to date as the database's owner, and end
    Migrate,
    /// See messages that wait, and decide what becomes of them
    #[command(subcommand)]
    Inbox(inbox::operator::Command),
    /// See how far the relay is, and publish again what was published before
    #[command(subcommand)]
    Outbox(outbox::operator::Command),
    #[command(flatten)]
    Own(Own),
    /// Ask the running instance whether it is ready; the exit code is 0 if it is, else 1
    Health,
    /// Print the OpenAPI document
    Openapi,
    /// Print every setting, with its default and what it means
    Defaults,
}

/// Runs what the command line says, and returns the process's exit code: 0 if that was done, 1 if it failed, 2 if it
/// was not understood. A wrong configuration is not understood either: all its faults are listed on stderr.
pub fn main<S: Service>() -> ExitCode {
    let command = CommandLine::<S::Command>::command();
    let command = command.name(S::NAME).bin_name(S::NAME).about(S::api().info.title);
    let command = match CommandLine::<S::Command>::from_arg_matches(&command.get_matches()) {
        Ok(line) => line.command,
        Err(error) => error.exit(),
    };
    if let Err(refused) = crashpoint::check() {
        eprintln!("{refused}");
        return ExitCode::from(MISCONFIGURED);
    }
    let done = match command {
        Command::Serve => with_log::<S>(Purpose::Serve, serve::serve),
        Command::Relay => with_log::<S>(Purpose::Relay, serve::relay),
        Command::Migrate => with_log::<S>(Purpose::Migrate, migrate),
        Command::Inbox(command) => operator::inbox::<S>(command),
        Command::Outbox(command) => operator::outbox::<S>(command),
        Command::Own(command) => operator::own::<S>(command),
        Command::Health => health::<S>(),
        Command::Openapi => Ok(print(&openapi::<S>())),
        Command::Defaults => Ok(print(&defaults::<S>())),
    };
    done.unwrap_or_else(|faults| {
        // Printed and not logged: how to log is among the settings.
        eprintln!("{faults}");
        ExitCode::from(MISCONFIGURED)
    })
}

fn with_log<S: Service>(
    purpose: Purpose,
    run: impl FnOnce(Config<S>) -> Result<(), RunError>,
) -> Result<ExitCode, Faults> {
    let mut config = Config::<S>::read(purpose, environment())?;
    telemetry::start(std::mem::take(&mut config.log));
    match run(config) {
        Ok(()) => {
            tracing::info!("{} ended as it was told to", S::NAME);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            tracing::error!("{} ended: {error}", S::NAME);
            Ok(ExitCode::FAILURE)
        }
    }
}

fn migrate<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let url = config.migration_url.ok_or(RunError::NotConfigured("database.migration_url"))?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    Ok(runtime.block_on(database::migrate(&url, schema::migrations::<S>()))?)
}

fn health<S: Service>() -> Result<ExitCode, Faults> {
    let address = Config::<S>::read(Purpose::Ask, environment())?.http.address;
    let code = match ask::readiness(address) {
        Ok((true, words)) => {
            print(&format!("{words}\n"));
            ExitCode::SUCCESS
        }
        Ok((false, words)) => {
            print(&format!("{words}\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{}: nothing answers at {address}: {error}", S::NAME);
            ExitCode::FAILURE
        }
    };
    Ok(code)
}

/// The document as it is checked in: members in alphabetical order, so that it changes only when the API does.
fn openapi<S: Service>() -> String {
    let mut document = serde_json::json!(document::<S>());
    document.sort_all_objects();
    format!("{document:#}\n")
}

/// A reader that has gone away, as with `| head`, is no fault of ours.
pub(crate) fn print(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
