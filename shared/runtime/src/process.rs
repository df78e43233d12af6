//! What every long-running command is made of, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use contracts::Topics;
use database::Database;
use messaging::Brokers;
use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::config::Config;
use crate::health::Health;
use crate::signals::Signals;
use crate::tasks::{Death, Tasks};
use crate::{RunError, Service};

/// How long consumers and jobs, transactions, and the relay may each take to end.
const STAGE: Duration = Duration::from_secs(6);

/// The parts that start-up fills with life. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) database: Database,
    pub(crate) migration_url: Option<SecretString>,
    pub(crate) brokers: Brokers,
    pub(crate) topics: Topics,
    /// How long requests that are under way may take to end.
    pub(crate) drain: Duration,
    pub(crate) health: Arc<Health>,
    /// Consumers and jobs.
    pub(crate) work: Tasks,
    /// The relay: it stops after them, to carry away what they have said.
    pub(crate) relay: Tasks,
}

impl Process {
    /// The parts, and where the deaths of background tasks are reported.
    pub(crate) fn new<S: Service>(
        config: &Config<S>,
        runtime: &Handle,
    ) -> Result<(Self, UnboundedReceiver<Death>), RunError> {
        let database = Database::new(&config.database, runtime.clone())?;
        let (reports, deaths) = unbounded_channel();
        let process = Self {
            health: Arc::new(Health::new(database.clone())),
            database,
            migration_url: config.migration_url.clone(),
            brokers: config.kafka.brokers.clone().ok_or(RunError::NotConfigured("kafka.brokers"))?,
            topics: config.kafka.topics.clone(),
            drain: config.drain,
            work: Tasks::new(runtime.clone(), reports.clone()),
            relay: Tasks::new(runtime.clone(), reports),
        };
        Ok((process, deaths))
    }

    /// Lives until a signal asks for the end or a background task dies, and then ends in good order.
    pub(crate) async fn live(
        &self,
        mut deaths: UnboundedReceiver<Death>,
        mut signals: Signals,
        clients: Option<ServerHandle>,
    ) -> Result<(), RunError> {
        let why = tokio::select! {
            () = signals.next() => {
                tracing::info!("stopping, as a signal asks");
                Ok(())
            }
            Some(death) = deaths.recv() => {
                tracing::error!("stopping: {death}");
                Err(RunError::Died(death))
            }
        };
        let left = tokio::select! {
            left = self.stop(clients) => left,
            () = signals.next() => return Err(RunError::Impatient),
        };
        why?;
        if left.is_empty() { Ok(()) } else { Err(RunError::Left(left)) }
    }

    /// Requests first, then those who work by themselves, the relay last: so nothing is lost. Returns the names of
    /// what did not end in time.
    async fn stop(&self, clients: Option<ServerHandle>) -> Vec<&'static str> {
        self.health.stopping();
        let mut left = Vec::new();
        if let Some(clients) = clients {
            let start = Instant::now();
            let drained = clients.stop(true);
            crashpoint::reach!("shutdown.draining");
            drained.await;
            // The server drops what has not ended by then, and does not say so.
            if start.elapsed() >= self.drain {
                left.push("requests");
            }
            tracing::info!("requests have ended");
        }
        left.extend(self.work.stop(STAGE).await);
        // Units of work whose clients went away, and batches of the inbox.
        if tokio::time::timeout(STAGE, self.database.drained()).await.is_err() {
            left.push("transactions");
        }
        tracing::info!("consumers, jobs and transactions have ended");
        left.extend(self.relay.stop(STAGE).await);
        left
    }
}
