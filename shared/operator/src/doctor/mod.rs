//! `SERVICE doctor`: looks at everything that the service rests on, and names the cure of each fault. It only reads.

mod brokers;
mod database;
mod deployment;
mod finding;
mod gauges;

use clap::Args;
use messaging::topics::TopicSpec;
use metrics::Readings;
use uuid::Uuid;

use crate::{CommandOutput, Installation, Read};

use finding::{Finding, Grade, Report};

/// The command `SERVICE doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    read: Read,
}

/// The state that the doctor expects of the servers.
pub struct Expected {
    /// The name of the service.
    pub service: &'static str,
    /// The topics that it needs.
    pub topics: Vec<TopicSpec>,
    /// The number of migrations of this program that are not applied.
    pub pending_migrations: Result<usize, String>,
    /// The deployment that the database names; `None` if no process has served it.
    pub deployment: Option<DeploymentRow>,
    /// The gauges of a scrape; `None` if the database is away.
    pub gauges: Option<Readings>,
}

/// The deployment that a database names.
pub struct DeploymentRow {
    /// The id that members of the consumer group show.
    pub id: Uuid,
    /// Why the database is not the one of this deployment, and the cure.
    pub mismatch: Option<(String, String)>,
}

impl Doctor {
    /// Is done if nothing is at fault. A server that is away is a finding, not an error.
    pub async fn run(self, installation: &Installation, expected: &Expected) -> CommandOutput {
        let mut findings = database::examine(&installation.database, expected).await;
        findings
            .extend(expected.deployment.as_ref().map(|row| deployment::examine(&installation.topics, row)));
        findings.extend(expected.gauges.iter().flat_map(gauges::examine));
        findings.extend(brokers::examine(installation, expected).await);
        let done = findings.iter().all(|finding| finding.grade != Grade::Fault);
        self.read.output_with(done, &Report { findings }, Report::to_string)
    }
}
