//! `Pools`: each part of a process has connections of its own.
//!
//! A part that uses up its connections makes only its own work wait: a burst of requests stops neither the relay nor the consumer,
//! and an instance that is overloaded is still reachable for health checks.

use database::{Database, Result, Settings};
use tokio::runtime::Handle;

/// Of the leased jobs, one of which is an audit that may run for minutes.
const HOUSEKEEPING: usize = 4;
/// For the lease, the window and the rows that the relay marks.
const RELAY: usize = 3;
/// For a scrape and a health check.
const OPERATORS: usize = 2;

/// One database, by a pool for each part. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pools {
    pub(crate) requests: Database,
    pub(crate) inbox: Database,
    pub(crate) jobs: Database,
    pub(crate) housekeeping: Database,
    pub(crate) relay: Database,
    /// Health checks, gauges and the start-up.
    pub(crate) operators: Database,
}

impl Pools {
    /// Creates the pools. They connect when they are used. The consumer has half as many connections as requests, four at least, and
    /// so have the service's own jobs.
    pub(crate) fn new(settings: &Settings, runtime: Handle) -> Result<Self> {
        let requests = Database::new(settings, runtime)?;
        let half = settings.pool_size.div_ceil(2).max(4);
        Ok(Self {
            inbox: requests.with_own_pool(half)?,
            jobs: requests.with_own_pool(half)?,
            housekeeping: requests.with_own_pool(HOUSEKEEPING)?,
            relay: requests.with_own_pool(RELAY)?,
            operators: requests.with_own_pool(OPERATORS)?,
            requests,
        })
    }

    /// Each pool with its name in the metrics.
    pub(crate) fn named(&self) -> [(&'static str, &Database); 6] {
        [
            ("requests", &self.requests),
            ("inbox", &self.inbox),
            ("jobs", &self.jobs),
            ("housekeeping", &self.housekeeping),
            ("relay", &self.relay),
            ("operators", &self.operators),
        ]
    }
}
