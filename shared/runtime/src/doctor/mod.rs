//! `SERVICE doctor`: looks at everything that the service rests on, and names the cure of each fault. It only reads.

mod brokers;
mod database;
mod deployment;
mod finding;
mod gauges;

use ::database::Database;
use clap::Args;
use operators::{CommandOutput, Read};

use crate::config::Config;
use crate::deployment::Identity;
use crate::{Context, Service};

use finding::{Finding, Grade, Report};

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    read: Read,
}

impl Doctor {
    /// Is done if nothing is at fault. A server that is away is a finding, not an error.
    pub(crate) async fn run<S: Service>(self, config: Config<S>, database: Database) -> CommandOutput {
        let Config { brokers, topics, service, .. } = config;
        let context = Context::<S> { database, topics, settings: service };
        let identity = Identity::read(&context.database).await;
        let mut findings = database::examine::<S>(&context.database).await;
        findings.extend(deployment::examine(S::NAME, &context.topics, &identity));
        findings.extend(gauges::examine::<S>(&context.database).await);
        findings.extend(brokers::examine(&context, brokers.as_ref(), identity.ok().flatten()).await);
        let done = findings.iter().all(|finding| finding.grade != Grade::Fault);
        self.read.output_with(done, &Report { findings }, Report::to_string)
    }
}
