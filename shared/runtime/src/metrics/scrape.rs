//! `Scrape`: the registry of the process, and the gauges that were read from the database.
//!
//! The gauges are read on one connection and kept for a few seconds. Scrapes at the same time share one reading. While the database
//! is away the gauges are left out, because zero would be wrong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::database::{Connection, Database};
use idempotency::IdempotencyMetrics;
use inbox::InboxMetrics;
use metrics::{Families, Readings, Registry};
use outbox::OutboxMetrics;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{HttpMetrics, database, jobs};
use crate::auditor::AuditMetrics;
use crate::pools::Pools;
use crate::{Context, Service};

/// How long a reading is shown again.
const KEPT: Duration = Duration::from_secs(5);

/// How long a scrape waits for a reading. Prometheus waits for 10 s.
const LIMIT: Duration = Duration::from_secs(3);

pub(crate) struct Scrape<S: Service> {
    context: Context<S>,
    counted: Registry,
    started: Instant,
    kept: Mutex<Option<(Instant, Arc<Readings>)>>,
}

impl<S: Service> Scrape<S> {
    /// Registers all families. From here on every counter is shown, if only as zero.
    pub(crate) fn new(context: Context<S>, pools: &Pools, http: &HttpMetrics) -> Self {
        let (database, mut counted) = (&context.database, Registry::default());
        http.register(&mut counted);
        database::register(pools, &mut counted);
        database.metrics::<IdempotencyMetrics>().register(&mut counted);
        database.metrics::<OutboxMetrics>().register(&mut counted);
        database.metrics::<InboxMetrics>().register(&mut counted);
        database.metrics::<AuditMetrics>().register(S::NAME, &mut counted);
        S::register_metrics(&context, &mut counted);
        Self { context, counted, started: Instant::now(), kept: Mutex::default() }
    }

    /// The families that the process counts.
    pub(crate) fn counted(&self) -> &Registry {
        &self.counted
    }

    /// The time since the process began to listen.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The gauges of the database, read now or a few seconds ago.
    pub(crate) async fn read(&self) -> Arc<Readings> {
        let mut kept = self.kept.lock().await;
        if let Some((at, readings)) = &*kept
            && at.elapsed() < KEPT
        {
            return Arc::clone(readings);
        }
        // Detached, because a statement that is cancelled would close its connection.
        let database = self.context.database.clone();
        let reading = self.context.database.detach(async move { read_all::<S>(&database).await });
        let read = timeout(LIMIT, reading).await;
        let readings = Arc::new(read.ok().and_then(Result::ok).unwrap_or_default());
        *kept = Some((Instant::now(), Arc::clone(&readings)));
        readings
    }
}

async fn read_all<S: Service>(database: &Database) -> Readings {
    let mut readings = Readings::default();
    match database.connection().await {
        Ok(connection) => read_gauges::<S>(&connection, &mut readings).await,
        Err(error) => tracing::debug!(%error, "no gauges were read"),
    }
    readings
}

/// Reads group after group. A group that fails does not hide the others.
pub(crate) async fn read_gauges<S: Service>(connection: &Connection, readings: &mut Readings) {
    let note = |group: &str, read: ::database::Result<()>| {
        if let Err(error) = read {
            tracing::warn!(group, %error, "gauges were not read, and are left out of /metrics");
        }
    };
    note("database", database::read_metrics(connection, readings).await);
    note("jobs", jobs::read_metrics(connection, readings).await);
    note("outbox", outbox::read_metrics(connection, readings).await);
    note("inbox", inbox::read_metrics(connection, readings).await);
    note(S::NAME, S::read_metrics(connection, readings).await);
}
