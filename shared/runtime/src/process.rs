//! The parts of a running process and its shutdown: requests first, then consumers and jobs, then transactions, and the
//! relay last.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use database::{Database, Heartbeats};
use envelope::Topics;
use messaging::Brokers;
use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::config::{Config, LogRetention};
use crate::health::Health;
use crate::metrics::{HttpMetrics, Scrape};
use crate::pools::Pools;
use crate::signals::Signals;
use crate::tasks::Tasks;
use crate::{Context, RunError, Service, open_files};

/// The time limit for each of three stages of the shutdown: consumers and jobs, transactions, relay.
const STAGE: Duration = Duration::from_secs(6);

/// The server looks once a second whether its requests have ended.
const LOOK: Duration = Duration::from_secs(1);

/// The time after the last stage for spans and lines of the log. The watchdog ends the process after it.
const LAST: Duration = Duration::from_millis(1500);

/// The time limit for the whole shutdown, up to the last lines of the log.
pub(crate) fn shutdown_limit(drain: Duration) -> Duration {
    drain + LOOK + 3 * STAGE
}

/// The parts that the start-up uses. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) pools: Pools,
    pub(crate) migration_url: Option<SecretString>,
    pub(crate) brokers: Brokers,
    pub(crate) topics: Topics,
    pub(crate) retention: LogRetention,
    /// The time limit for requests to end after a signal.
    pub(crate) drain: Duration,
    pub(crate) health: Arc<Health>,
    /// Consumers and jobs.
    pub(crate) work: Tasks,
    /// The relay. It stops after the others, so that it publishes their last events.
    pub(crate) relay: Tasks,
}

impl Process {
    /// The parts, and the channel on which background tasks report their errors.
    pub(crate) fn new<S: Service>(
        config: &Config<S>,
        runtime: &Handle,
    ) -> Result<(Self, UnboundedReceiver<String>), RunError> {
        open_files::raise_limit()?;
        let pools = Pools::new(&config.database, runtime.clone())?;
        let (reports, task_errors) = unbounded_channel();
        // Beside the runtime's threads, this task shows that its timers run.
        runtime.spawn(pools.operators.heartbeats().of("database runtime").during(pending::<()>()));
        let process = Self {
            health: Arc::new(Health::new(pools.operators.clone())),
            pools,
            migration_url: config.migration_url.clone(),
            brokers: config.brokers.clone().ok_or("kafka.brokers is not configured")?,
            topics: config.topics.clone(),
            retention: config.retention.clone(),
            drain: config.drain,
            work: Tasks::new(runtime.clone(), reports.clone()),
            relay: Tasks::new(runtime.clone(), reports),
        };
        Ok((process, task_errors))
    }

    /// The state that the parts of the service share, for one that uses this pool.
    pub(crate) fn context<S: Service>(&self, config: &Config<S>, pool: &Database) -> Context<S> {
        Context { database: pool.clone(), topics: self.topics.clone(), settings: config.service.clone() }
    }

    /// The metrics of this process.
    pub(crate) fn scrape<S: Service>(&self, config: &Config<S>, http: &HttpMetrics) -> Scrape<S> {
        Scrape::new(self.context(config, &self.pools.operators), &self.pools, http)
    }

    /// Starts to receive signals. The watchdog ends the process if the stages of the shutdown exceed their limits.
    pub(crate) fn signals(&self) -> Result<Signals, String> {
        let limit = shutdown_limit(self.drain) + LAST;
        Signals::listen(limit, self.heartbeats().clone()).map_err(|error| {
            format!("the operating system refused the thread that receives signals: {error}")
        })
    }

    /// The heartbeats of the parts of this process.
    pub(crate) fn heartbeats(&self) -> &Heartbeats {
        self.pools.operators.heartbeats()
    }

    /// Waits for a signal or the error of a background task, and then shuts down. A second signal ends it at once.
    pub(crate) async fn run(
        &self,
        mut task_errors: UnboundedReceiver<String>,
        mut signals: Signals,
        clients: Option<ServerHandle>,
    ) -> Result<(), RunError> {
        let outcome: Result<(), RunError> = tokio::select! {
            () = signals.next() => {
                tracing::info!("stopping: a signal was received");
                Ok(())
            }
            Some(error) = task_errors.recv() => {
                tracing::error!("stopping: {error}");
                signals.stopping();
                Err(error.into())
            }
        };
        let unfinished = tokio::select! {
            unfinished = self.stop(clients) => unfinished,
            () = signals.next() => {
                return Err("a second signal was received; the database rolls open transactions back".into());
            }
        };
        outcome?;
        if unfinished.is_empty() {
            return Ok(());
        }
        let names = unfinished.join(", ");
        Err(format!("did not end in time: {names}; the database rolls their transactions back").into())
    }

    /// Stops everything in order. Returns the names of the parts that did not end in time.
    async fn stop(&self, clients: Option<ServerHandle>) -> Vec<&'static str> {
        self.health.stopping();
        let mut unfinished = Vec::new();
        if let Some(clients) = clients {
            let drained = clients.stop(true);
            crashpoint::reach!("shutdown.draining");
            // The server waits longer than this, so that it reports requests as ended only if they have. The server waits
            // without limit for a worker that stands still.
            if timeout(self.drain + LOOK, drained).await.is_err() {
                unfinished.push("requests");
            }
            tracing::info!("requests have ended");
        }
        unfinished.extend(self.work.stop(STAGE).await);
        // Transactions of clients that disconnected, and batches of the inbox.
        if timeout(STAGE, self.pools.requests.drained()).await.is_err() {
            unfinished.push("transactions");
        }
        tracing::info!("consumers, jobs and transactions have ended");
        unfinished.extend(self.relay.stop(STAGE).await);
        unfinished
    }
}
