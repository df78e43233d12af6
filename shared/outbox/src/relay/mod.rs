//! From the log to Kafka: elected by a lease, fenced by its epoch, moving a cursor over windows of snapshots.

mod cursor;
mod lease;
mod publish;
mod window;

use std::time::Duration;

use contracts::Topics;
use database::Database;
use messaging::Brokers;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) use cursor::Cursor;
use lease::{Lease, Tenure};

/// How the relay behaves.
#[derive(Debug, Clone)]
pub struct RelaySettings {
    /// A relay that does not renew for this long is replaced.
    pub lease: Duration,
    /// The longest pause between two looks at the log; the wake-up makes it shorter, never necessary.
    pub idle_poll: Duration,
    /// Between two looks at the log, unless more was there than fits on a page: under load, what commits in between
    /// travels together. Whoever commits first after a pause does not wait.
    pub gather: Duration,
    /// Between two checkpoints at least: more of them only save duplicates after a crash.
    pub checkpoint: Duration,
    /// Rows read at a time.
    pub page: usize,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            idle_poll: Duration::from_millis(250),
            gather: Duration::from_millis(2),
            checkpoint: Duration::from_millis(250),
            page: 1_000,
        }
    }
}

/// Why a relay gave up its turn. None of these loses anything: the next turn continues from the cursor.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    #[error(transparent)]
    NotTaken(#[from] messaging::PublishError),
    #[error(transparent)]
    NotAcknowledged(#[from] messaging::NotAcknowledged),
    #[error("the producer has ended")]
    ProducerGone,
    #[error("the lease went to another relay")]
    Replaced,
    #[error("row {id} of the outbox cannot be published: {why}")]
    Unpublishable { id: i64, why: String },
}

impl From<diesel::result::Error> for Fault {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Publishes a database's outbox. Run as many as you like: one is active.
pub struct Relay {
    database: Database,
    brokers: Brokers,
    topics: Topics,
    settings: RelaySettings,
    owner: String,
}

impl Relay {
    /// A relay for this database and these brokers.
    pub fn new(database: Database, brokers: Brokers, topics: Topics, settings: RelaySettings) -> Self {
        let owner = format!("{}-{}", std::process::id(), Uuid::new_v4().simple());
        Self { database, brokers, topics, settings, owner }
    }

    /// Works until it is told to stop. Faults are logged and tried again: an outage costs time and nothing else.
    pub async fn run(self, stop: CancellationToken) {
        let mut backoff = Duration::from_millis(50);
        while !stop.is_cancelled() {
            match self.turn(&stop).await {
                Ok(()) => backoff = Duration::from_millis(50),
                Err(fault) => {
                    tracing::warn!(%fault, "relay stopped its turn; it will try again");
                    backoff = (backoff * 2).min(Duration::from_secs(2));
                }
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(backoff)).await;
        }
    }

    /// One turn: take the lease if it is free, and publish until it is lost or the relay is told to stop.
    async fn turn(&self, stop: &CancellationToken) -> Result<(), Fault> {
        let lease = Lease { database: &self.database, owner: &self.owner, length: self.settings.lease };
        let Some(tenure) = lease.take().await? else {
            // A standby looks often enough to take over within the lease's length.
            let _ = stop.run_until_cancelled(tokio::time::sleep(self.settings.lease / 5)).await;
            return Ok(());
        };
        tracing::info!(epoch = tenure.epoch, "relay is active");
        let done = self.active(&lease, &tenure, stop).await;
        let given_back = lease.give_back(&tenure).await;
        done.and(given_back)
    }

    async fn active(
        &self,
        lease: &Lease<'_>,
        tenure: &Tenure,
        stop: &CancellationToken,
    ) -> Result<(), Fault> {
        let publishing = publish::Publishing::start(self, tenure.epoch).await?;
        // Whichever ends first ends the turn: without the lease nothing more may be published.
        tokio::select! {
            done = publishing.run(stop) => done,
            lost = lease.keep(tenure) => Err(lost),
        }
    }
}
