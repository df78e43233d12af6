//! Runs the operators' commands: reads the configuration, opens the database, prints the output, and sets the exit code.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use database::Database;
use metrics::Readings;
use operators::{CommandOutput, DeploymentRow, Doctor, Erase, Expected, Installation, OperatorCommand};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::auditor::Audit;
use crate::config::{Config, ConfigErrors, Needs, environment};
use crate::deployment::{Adopt, Identity, cure};
use crate::metrics::read_gauges;
use crate::schema::{migrations, pending, versions};
use crate::startup::needed_topics;
use crate::{Context, Service, telemetry};

/// A command that every service has.
pub(crate) fn shared<S: Service>(
    command: impl OperatorCommand<Installation>,
) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(command.needs(), command.only_reads(), async move |config, database| {
        command.run(&installation(config, database)).await
    })
}

fn installation<S: Service>(config: Config<S>, database: Database) -> Installation {
    let Config { brokers, topics, edge, service, .. } = config;
    let context = Context::<S> { database, topics, settings: service };
    let consumer = S::consumer(&context);
    let Context { database, topics, .. } = context;
    Installation { database, topics, consumer, brokers, key_policy: edge.key_policy }
}

/// A command that only this service has.
pub(crate) fn own<S: Service>(command: S::Command) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(command.needs(), command.only_reads(), async move |config, database| {
        let Config { topics, service, .. } = config;
        command.run(&Context { database, topics, settings: service }).await
    })
}

pub(crate) fn audit<S: Service>(audit: Audit) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |_, database| Ok(audit.run::<S>(&database).await?))
}

pub(crate) fn doctor<S: Service>(doctor: Doctor) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&["kafka.brokers"], true, async move |config, database| {
        let installation = installation(config, database);
        Ok(doctor.run(&installation, &expected::<S>(&installation).await).await)
    })
}

/// The state of the servers that this service needs. If the database is away, the doctor says so, and looks at nothing else in it.
async fn expected<S: Service>(installation: &Installation) -> Expected {
    let Installation { database, topics, consumer, .. } = installation;
    let pending_migrations = match versions(migrations::<S>()) {
        Ok(expected) => pending(database, expected).await.map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    let name = topics.deployment();
    let deployment = Identity::read(database).await.ok().flatten().map(|identity| DeploymentRow {
        id: identity.id,
        mismatch: identity.mismatch(name).map(|seen| (seen, cure(S::NAME, name))),
    });
    let gauges = match database.connection().await {
        Ok(connection) => {
            let mut readings = Readings::default();
            read_gauges::<S>(&connection, &mut readings).await;
            Some(readings)
        }
        Err(_) => None,
    };
    let topics = needed_topics(topics, S::STREAM, consumer.as_ref());
    Expected { service: S::NAME, topics, pending_migrations, deployment, gauges }
}

pub(crate) fn adopt<S: Service>(adopt: Adopt) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |config, database| {
        Ok(adopt.run(&database, config.topics.deployment()).await?)
    })
}

/// Runs for any database: a copy is erased before others may read it.
pub(crate) fn erase<S: Service>(erase: Erase) -> Result<ExitCode, ConfigErrors> {
    run::<S, _>(&[], true, async move |_, database| {
        Ok(erase.run(&database, async |tx, erasure| S::erase(tx, erasure).await).await?)
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
    F: AsyncFnOnce(Config<S>, Database) -> Result<CommandOutput, Box<dyn Error>>,
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
            let is_database = error.is::<database::Error>();
            let hint = "; is the database of IDEM_DATABASE__URL running and migrated?";
            eprintln!("{}: {error}{}", S::NAME, if is_database { hint } else { "" });
            ExitCode::FAILURE
        }
    })
}

/// Prints to stdout. A closed pipe, as with `| head`, is not an error.
pub(crate) fn print(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
