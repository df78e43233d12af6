//! The relay: publishes the outbox to Kafka.
//!
//! Of all relays of a database, the one that holds the lease publishes. Its term lasts from acquiring the lease to losing it,
//! and has a number, the epoch, which fences the cursor. No row is skipped: one that Kafka refuses for good is set aside until an
//! operator releases it. Duplicates are possible after a term ends early.

mod blocked;
mod cursor;
mod deliveries;
mod gaps;
mod lease;
mod log_reader;
#[cfg(test)]
mod properties;
mod publish_loop;

use std::time::Duration;

use database::{Database, RetryLog};
use envelope::Topics;
use messaging::Brokers;
use messaging::topics::TopicState;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) use blocked::outbox_blocked;
pub(crate) use cursor::outbox_cursor;
pub(crate) use gaps::Ranges;
pub use lease::end_lease;
use lease::{HeldLease, Lease};
use publish_loop::PublishLoop;

use crate::OutboxMetrics;

/// The pause after a term, before it is doubled for each failed one.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// The relay's intervals and sizes.
#[derive(Debug, Clone)]
pub struct RelaySettings {
    /// The length of the lease. A standby takes over from a relay that has not renewed it for this long.
    pub lease: Duration,
    /// The longest pause between two reads of the outbox. A commit in the same process ends the pause at once.
    pub idle_poll: Duration,
    /// Under load, the shortest time between two reads: all that commits in between is published together. A read of several
    /// events shows load, unless it filled a page. A single event on an idle relay waits for no other.
    pub gather: Duration,
    /// The shortest time between two checkpoints of the cursor. A shorter time means fewer duplicates after a crash.
    pub checkpoint: Duration,
    /// The number of rows that are read at a time.
    pub page: usize,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            idle_poll: Duration::from_millis(250),
            gather: Duration::from_millis(10),
            checkpoint: Duration::from_millis(250),
            page: 1_000,
        }
    }
}

/// The reason why a relay ended its term. No message is lost: the next term continues from the cursor.
#[derive(Debug, Error)]
pub(crate) enum RelayError {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Kafka(#[from] messaging::Error),
    #[error(transparent)]
    Publish(#[from] messaging::PublishError),
    #[error(transparent)]
    NotAcknowledged(#[from] messaging::NotAcknowledged),
    #[error("no leader: {0:?}")]
    NoLeader(Vec<TopicState>),
    #[error("the producer has ended")]
    ProducerEnded,
    #[error("another relay has the lease")]
    Replaced,
}

impl From<diesel::result::Error> for RelayError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Publishes the outbox of a database. Any number may run; one is active, the others are standbys.
pub struct Relay {
    database: Database,
    brokers: Brokers,
    topics: Topics,
    settings: RelaySettings,
    owner: String,
}

impl Relay {
    /// Creates a relay for this database and these brokers.
    pub fn new(database: Database, brokers: Brokers, topics: Topics, settings: RelaySettings) -> Self {
        let owner = format!("{}-{}", std::process::id(), Uuid::new_v4().simple());
        Self { database, brokers, topics, settings, owner }
    }

    /// Runs until `stop` is cancelled. After an error it logs the error, waits, and tries to start a new term.
    pub async fn run(self, stop: CancellationToken) {
        let (mut backoff, mut log) = (MIN_BACKOFF, RetryLog::default());
        while !stop.is_cancelled() {
            let started = Instant::now();
            let ended = self.run_term(&stop).await;
            // A term that lasted shows that an earlier cause of errors is gone.
            if ended.is_ok() || started.elapsed() > MAX_BACKOFF {
                (backoff, log) = (MIN_BACKOFF, RetryLog::default());
            }
            if let Err(error) = ended {
                if log.failed().is_some() {
                    tracing::warn!(%error, "relay stopped; it will try again");
                }
                backoff = (backoff * 2).min(MAX_BACKOFF);
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(backoff)).await;
        }
    }

    /// Acquires the lease if it is free, and publishes until the lease is lost or `stop` is cancelled.
    async fn run_term(&self, stop: &CancellationToken) -> Result<(), RelayError> {
        let lease = Lease::new(&self.database, &self.owner, self.settings.lease);
        let Some(held) = lease.acquire().await? else {
            // A standby looks five times in the length of a lease, so it takes over soon after the lease ends.
            let _ = stop.run_until_cancelled(tokio::time::sleep(self.settings.lease / 5)).await;
            return Ok(());
        };
        tracing::info!(epoch = held.epoch, "relay is active");
        let metrics: &OutboxMetrics = self.database.metrics();
        metrics.holds_lease.set(1);
        let published = self.publish_while_held(&lease, &held, stop).await;
        metrics.holds_lease.set(0);
        let released = lease.release(&held).await;
        published.and(released)
    }

    async fn publish_while_held(
        &self,
        lease: &Lease<'_>,
        held: &HeldLease,
        stop: &CancellationToken,
    ) -> Result<(), RelayError> {
        let mut files = self.brokers.watch_files();
        let publishing = PublishLoop::start(self, held.epoch).await?;
        // The first to end drops the others: a relay without the lease must not publish.
        tokio::select! {
            published = publishing.run(stop) => published,
            lost = lease.renew_until_lost(held) => Err(lost),
            // The next term begins with a producer that has read them.
            () = files.renewed() => Ok(()),
        }
    }
}
