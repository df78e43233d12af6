//! The command line. It is the same for every service.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use operators::{Doctor, Erase, InboxCommand, KeysCommand, OutboxCommand, RelayCommand};
use traces::Exporter;

use crate::auditor::Audit;
use crate::config::{Config, ConfigErrors, Needs, defaults, environment};
use crate::deployment::Adopt;
use crate::http::described_document;
use crate::operator::{self, print};
use crate::{RunError, Service, health_client, schema, serve, telemetry};

/// The exit code of a wrong configuration; clap uses it for a wrong command line, too.
const MISCONFIGURED: u8 = 2;

#[derive(Parser)]
#[command(version, subcommand_required = true, arg_required_else_help = true)]
struct CommandLine<Own: Subcommand> {
    #[command(subcommand)]
    command: Command<Own>,
}

#[derive(Subcommand)]
enum Command<Own: Subcommand> {
    /// Serve HTTP, consume messages, and publish events
    Serve,
    /// Publish events only, for instances that serve without a relay; or end the lease of the active relay
    Relay {
        #[command(subcommand)]
        command: Option<RelayCommand>,
    },
    /// Apply pending migrations as the owner of the database
    Migrate,
    /// List waiting messages, redrive or discard them, or rewind the consumer
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// Report the state of the relay, or publish events again
    #[command(subcommand)]
    Outbox(OutboxCommand),
    /// Ask whether every invariant of the database holds: exit code 0 or 1
    Audit(Audit),
    /// Look at everything that the service rests on: exit code 0, or 1 if something is at fault
    Doctor(Doctor),
    /// Say that this database is the one of the deployment that the settings name
    Adopt(Adopt),
    /// Erase the texts that clients wrote, of a tenant or of one reference
    Erase(Erase),
    /// Show the operations of a key, or free the key of one without an effect
    #[command(subcommand)]
    Keys(KeysCommand),
    #[command(flatten)]
    Own(Own),
    /// Ask the running instance whether it is ready: exit code 0 or 1
    Health,
    /// Print the OpenAPI document
    Openapi {
        /// As the routes describe it, before `./dev openapi` completes it
        #[arg(long, hide = true)]
        described: bool,
    },
    /// Print every setting with its default and its meaning
    Defaults,
}

/// Runs the command on the command line and returns the exit code: 0 if it is done, 1 if it failed, 2 if the command line
/// or the configuration is wrong. All configuration errors are printed to stderr.
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
        Command::Serve => with_log::<S>(Needs::Serve, serve::serve),
        Command::Relay { command: Some(command) } => operator::shared::<S>(command),
        Command::Relay { command: None } => with_log::<S>(Needs::Relay, serve::relay),
        Command::Migrate => with_log::<S>(Needs::Migrate, migrate),
        Command::Inbox(command) => operator::shared::<S>(command),
        Command::Outbox(command) => operator::shared::<S>(command),
        Command::Audit(audit) => operator::audit::<S>(audit),
        Command::Doctor(doctor) => operator::doctor::<S>(doctor),
        Command::Adopt(adopt) => operator::adopt::<S>(adopt),
        Command::Erase(erase) => operator::erase::<S>(erase),
        Command::Keys(command) => operator::shared::<S>(command),
        Command::Own(command) => operator::own::<S>(command),
        Command::Health => health::<S>(),
        Command::Openapi { described: false } => Ok(print(S::DOCUMENT)),
        Command::Openapi { described: true } => Ok(print(&described_document::<S>().to_string())),
        Command::Defaults => Ok(print(&defaults::<S>())),
    };
    done.unwrap_or_else(|errors| {
        // Printed and not logged, because the log is configured by settings, too.
        eprintln!("{errors}");
        ExitCode::from(MISCONFIGURED)
    })
}

fn with_log<S: Service>(
    needs: Needs,
    run: impl FnOnce(Config<S>) -> Result<(), RunError>,
) -> Result<ExitCode, ConfigErrors> {
    let mut config = Config::<S>::read(needs, environment())?;
    let traces = config.traces.take();
    let exporter = match traces.map(|settings| Exporter::new(S::NAME, &settings)).transpose() {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("{}: {error}", S::NAME);
            return Ok(ExitCode::FAILURE);
        }
    };
    let log = telemetry::start(std::mem::take(&mut config.log), exporter.as_ref());
    let done = run(config);
    match &done {
        Ok(()) => tracing::info!("{} has stopped", S::NAME),
        Err(error) => tracing::error!("{} failed: {error}", S::NAME),
    }
    if let Some(exporter) = exporter {
        exporter.shut_down();
    }
    drop(log);
    Ok(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn migrate<S: Service>(config: Config<S>) -> Result<(), RunError> {
    let url = config.migration_url.ok_or("database.migration_url is not configured")?;
    let runtime = serve::database_runtime()?;
    Ok(runtime.block_on(database::migrate(&url, schema::migrations::<S>()))?)
}

fn health<S: Service>() -> Result<ExitCode, ConfigErrors> {
    let address = Config::<S>::read(Needs::Nothing, environment())?.http.address;
    let code = match health_client::readiness(address) {
        Ok((is_ready, words)) => {
            print(&format!("{words}\n"));
            if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{}: no instance answers at {address}: {error}", S::NAME);
            ExitCode::FAILURE
        }
    };
    Ok(code)
}
