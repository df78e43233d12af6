//! `SERVICE inbox …`, `SERVICE outbox …` and what a service adds: whoever owns the matter owns its operators' commands;
//! here they get the service's configuration, and their answers become output and exit code.

use std::fmt::Display;
use std::process::ExitCode;

use database::Database;
use inbox::operator::OperatorContext;
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::command::print;
use crate::config::{Config, Faults, Purpose, environment};
use crate::{CommandOutput, Context, Service, ServiceCommand, telemetry};

/// For commands that ask Kafka.
const KAFKA: &[&str] = &["kafka.brokers"];

pub(crate) fn inbox<S: Service>(command: inbox::operator::Command) -> Result<ExitCode, Faults> {
    operate::<S, _>(if command.needs_kafka() { KAFKA } else { &[] }, async move |config, database| {
        let Config { kafka, service, .. } = config;
        let context =
            Context::<S> { database: database.clone(), topics: kafka.topics.clone(), settings: service };
        let Some(consumer) = S::consumer(&context) else {
            return Err(format!("{} listens to nobody: it has no inbox", S::NAME).into());
        };
        let context = OperatorContext { database, topics: kafka.topics, consumer, brokers: kafka.brokers };
        Ok(inbox::operator::run(command, &context).await?)
    })
}

pub(crate) fn outbox<S: Service>(command: outbox::operator::Command) -> Result<ExitCode, Faults> {
    operate::<S, _>(if command.needs_kafka() { KAFKA } else { &[] }, async move |config, database| {
        let Config { kafka, .. } = config;
        let context =
            outbox::operator::OperatorContext { database, topics: kafka.topics, brokers: kafka.brokers };
        let tell = &mut |line: &str| eprintln!("{}: {line}", S::NAME);
        Ok(outbox::operator::run(command, &context, tell).await?)
    })
}

pub(crate) fn own<S: Service>(command: S::Command) -> Result<ExitCode, Faults> {
    operate::<S, _>(command.needs(), async move |config, database| {
        let Config { kafka, service, .. } = config;
        command.run(&Context { database, topics: kafka.topics, settings: service }).await
    })
}

/// Reads the configuration, gives the command what it needs, prints what it says. The exit code is 0 if everything is
/// done, else 1.
fn operate<S: Service, F>(beside: &'static [&'static str], work: F) -> Result<ExitCode, Faults>
where
    F: AsyncFnOnce(Config<S>, Database) -> Result<CommandOutput, Box<dyn std::error::Error>>,
{
    let mut config = Config::<S>::read(Purpose::Operate { beside }, environment())?;
    // What the command has to say stands in its answer; the log is for what goes wrong beside it.
    config.log.filter = EnvFilter::new("warn");
    telemetry::start(std::mem::take(&mut config.log));
    let answered =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(Into::into).and_then(
            |runtime| {
                let database = Database::new(&config.database, runtime.handle().clone())?;
                runtime.block_on(work(config, database))
            },
        );
    Ok(match answered {
        Ok(CommandOutput { text, done }) => {
            print(&text);
            if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => refused::<S>(&error),
    })
}

fn refused<S: Service>(error: &dyn Display) -> ExitCode {
    eprintln!("{}: {error}", S::NAME);
    ExitCode::FAILURE
}
