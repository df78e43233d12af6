//! Runs the operators' commands: reads the configuration, opens the database, prints the output, and sets the exit code.

use std::io::Write;
use std::process::ExitCode;

use database::Database;
use inbox::operator::OperatorContext;
use outbox::operator::RelayCommand;
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::auditor::Audit;
use crate::config::{Config, ConfigErrors, Needs, environment};
use crate::deployment::{Adopt, Identity};
use crate::doctor::Doctor;
use crate::erase::Erase;
use crate::keys::KeysCommand;
use crate::{CommandOutput, Context, Service, ServiceCommand, telemetry};

/// The settings of commands that need Kafka.
const KAFKA: &[&str] = &["kafka.brokers"];

pub(crate) fn inbox<S: Service>(command: inbox::operator::Command) -> Result<ExitCode, ConfigErrors> {
    let needs = if command.needs_kafka() { KAFKA } else { &[] };
    run::<S, _>(needs, command.only_reads(), async move |config, database| {
        let Config { brokers, topics, service, .. } = config;
        let context = Context::<S> { database: database.clone(), topics: topics.clone(), settings: service };
        let Some(consumer) = S::consumer(&context) else {
            return Err(format!("{} has no consumer, so it has no inbox", S::NAME).into());
        };
        let context = OperatorContext { database, topics, consumer, brokers };
        Ok(inbox::operator::run(command, &context).await?)
    })
}

pub(crate) fn outbox<S: Service>(command: outbox::operator::Command) -> Result<ExitCode, ConfigErrors> {
    let needs = if command.needs_kafka() { KAFKA } else { &[] };
    run::<S, _>(needs, command.only_reads(), async move |config, database| {
        let Config { brokers, topics, .. } = config;
        let context = outbox::operator::OperatorContext { database, topics, brokers };
        let progress = &mut |line: &str| eprintln!("{}: {line}", S::NAME);
        Ok(outbox::operator::run(command, &context, progress).await?)
    })
}

pub(crate) fn relay<S: Service>(command: RelayCommand) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], false, async move |config, database| {
        let context = outbox::operator::OperatorContext { database, topics: config.topics, brokers: None };
        Ok(command.run(&context).await?)
    })
}

pub(crate) fn audit<S: Service>(audit: Audit) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |_, database| Ok(audit.run::<S>(&database).await?))
}

pub(crate) fn doctor<S: Service>(doctor: Doctor) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(KAFKA, true, async move |config, database| Ok(doctor.run::<S>(config, database).await))
}

pub(crate) fn adopt<S: Service>(adopt: Adopt) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |config, database| {
        Ok(adopt.run(&database, config.topics.deployment()).await?)
    })
}

/// Runs for any database: a copy is erased before others may read it.
pub(crate) fn erase<S: Service>(erase: Erase) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |_, database| Ok(erase.run::<S>(&database).await?))
}

pub(crate) fn keys<S: Service>(command: KeysCommand) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], command.only_reads(), async move |config, database| {
        command.run(&database, config.edge.key_policy).await
    })
}

pub(crate) fn service<S: Service>(command: S::Command) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(command.needs(), command.only_reads(), async move |config, database| {
        let Config { topics, service, .. } = config;
        command.run(&Context { database, topics, settings: service }).await
    })
}

/// Runs one command. `and` names the settings that it needs beside `database.url`. Any other command than one that only reads is refused
/// for a database that is not the one of this deployment.
fn run<S: Service, F>(
    and: &'static [&'static str],
    only_reads: bool,
    work: F,
) -> Result<ExitCode, ConfigErrors>
where
    F: AsyncFnOnce(Config<S>, Database) -> Result<CommandOutput, Box<dyn std::error::Error>>,
{
    let mut config = Config::<S>::read(Needs::Database { and }, environment())?;
    // The log is for warnings only, because the output of the command is on stdout.
    config.log.filter = EnvFilter::new("warn");
    let log = telemetry::start(std::mem::take(&mut config.log), None);
    let result =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(Into::into).and_then(
            |runtime| {
                let database = Database::new(&config.database, runtime.handle().clone())?;
                runtime.block_on(async {
                    if !only_reads && let Some(identity) = Identity::read(&database).await? {
                        identity.refusal(S::NAME, config.topics.deployment()).map_or(Ok(()), Err)?;
                    }
                    work(config, database).await
                })
            },
        );
    drop(log); // its lines come before the output
    Ok(match result {
        Ok(CommandOutput { text, done }) => {
            print(&text);
            if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{}: {error}", S::NAME);
            ExitCode::FAILURE
        }
    })
}

/// Prints to stdout. A closed pipe, as with `| head`, is not an error.
pub(crate) fn print(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
