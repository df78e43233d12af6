//! The health of this instance, for load balancers, containers and scripts: `/health/live` and `/health/ready`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::http::Method;
use actix_web::{HttpResponse, Resource, Route, web};
use database::Database;
use edge::{Problem, problem_types};
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The state of this instance and of the servers that it needs.
pub(crate) struct Health {
    database: Database,
    /// When the database was last checked, and whether it answered.
    checked: Mutex<Option<(Instant, bool)>>,
    /// All migrations are applied.
    migrated: AtomicBool,
    /// The keys that check tokens have been read once.
    keyed: AtomicBool,
    /// The last read of the keys succeeded.
    keys: AtomicBool,
    /// The database is the one of this deployment.
    adopted: AtomicBool,
    /// Topics and consumer have been ready once. After that, an outage of the broker does not change readiness.
    started: AtomicBool,
    broker: AtomicBool,
    stopping: AtomicBool,
}

/// The body of `/health/ready`. It is public, so it names states only and no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    pub(crate) status: &'static str,
    pub(crate) database: &'static str,
    pub(crate) broker: &'static str,
    pub(crate) keys: &'static str,
    pub(crate) deployment: &'static str,
}

impl Report {
    /// Returns whether a load balancer should send requests to this instance.
    pub(crate) fn is_ready(&self) -> bool {
        self.status == READY
    }
}

const READY: &str = "ready";

/// How long the result of a check counts.
const KEPT: Duration = Duration::from_secs(1);

/// How long a check waits for the database. Less than the `timeoutSeconds` of the probes (3): a probe that ends first gives no reason.
const CHECK: Duration = Duration::from_secs(2);

/// A part of the process that makes no progress for so long is broken for good. Only a restart helps.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(20);

impl Health {
    pub(crate) fn new(database: Database) -> Self {
        let [migrated, keyed, keys, adopted, started, broker, stopping] =
            [const { AtomicBool::new(false) }; 7];
        let checked = Mutex::default();
        Self { database, checked, migrated, keyed, keys, adopted, started, broker, stopping }
    }

    /// Records that all migrations are applied.
    pub(crate) fn migrated(&self) {
        self.migrated.store(true, Ordering::Relaxed);
    }

    /// Records that the database is the one of this deployment. Until then the service answers reads only.
    pub(crate) fn adopted(&self) {
        self.adopted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_adopted(&self) -> bool {
        self.adopted.load(Ordering::Relaxed)
    }

    /// Records whether the keys could be read. Once they were, the API stays open.
    pub(crate) fn set_keys_read(&self, are_read: bool) {
        self.keyed.fetch_or(are_read, Ordering::Relaxed);
        self.keys.store(are_read, Ordering::Relaxed);
    }

    /// Records that the broker has the topics, and that the consumer has been assigned partitions.
    pub(crate) fn started(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Records the result of the latest check of the broker.
    pub(crate) fn set_broker_reachable(&self, is_reachable: bool) {
        self.broker.store(is_reachable, Ordering::Relaxed);
    }

    /// Records that the shutdown has begun.
    pub(crate) fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Returns the parts of the process that stand still.
    pub(crate) fn standing_still(&self) -> Vec<&'static str> {
        self.database.heartbeats().standing_still(STANDSTILL)
    }

    /// Returns whether tables and keys are there, so that the API can process requests.
    pub(crate) fn is_open(&self) -> bool {
        self.migrated.load(Ordering::Relaxed) && self.keyed.load(Ordering::Relaxed)
    }

    /// Checks the database, unless it was checked a moment ago. Callers at the same time share one check.
    async fn is_database_reachable(&self) -> bool {
        let mut checked = self.checked.lock().await;
        if let Some((at, is_reachable)) = *checked
            && at.elapsed() < KEPT
        {
            return is_reachable;
        }
        // Detached, because a statement that is cancelled would close its connection.
        let database = self.database.clone();
        let ping = self.database.detach(async move { database.ping().await });
        // Limited, because a runtime that stands still gives no answer.
        let is_reachable = matches!(timeout(CHECK, ping).await, Ok(Ok(Ok(()))));
        *checked = Some((Instant::now(), is_reachable));
        is_reachable
    }

    /// Checks the database and reports the recorded state of broker and keys.
    pub(crate) async fn report(&self) -> Report {
        let is_reachable = self.is_database_reachable().await;
        let database = match (is_reachable, self.migrated.load(Ordering::Relaxed)) {
            (false, _) => "away",
            (true, false) => "not migrated",
            (true, true) => "ok",
        };
        let broker = if self.broker.load(Ordering::Relaxed) { "ok" } else { "away" };
        let keys = if self.keys.load(Ordering::Relaxed) { "ok" } else { "away" };
        let deployment = match (self.migrated.load(Ordering::Relaxed), self.is_adopted()) {
            (false, _) => "unknown",
            (true, false) => "not adopted",
            (true, true) => "ok",
        };
        let started = self.is_open() && (self.started.load(Ordering::Relaxed) || !self.is_adopted());
        let can_serve = is_reachable && self.standing_still().is_empty();
        let status = match (self.is_stopping(), started, can_serve) {
            (true, ..) => "stopping",
            (false, false, _) => "starting",
            (false, true, false) => "unavailable",
            // An outage of the broker does not count, because events wait in the outbox.
            (false, true, true) => READY,
        };
        Report { status, database, broker, keys, deployment }
    }
}

/// Mounts `/health/live` and `/health/ready`; they find [`Health`] in `web::Data`.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(probe("/health/live", || web::to(live))).service(probe("/health/ready", || web::to(ready)));
}

/// The route of a health check, for GET and HEAD. Load balancers call it.
fn probe(path: &str, handler: fn() -> Route) -> Resource {
    let other = || async {
        let detail = "Only GET and HEAD are methods of this path.";
        let problem = Problem::new(&problem_types::METHOD_NOT_ALLOWED, detail);
        Err::<HttpResponse, _>(problem.allowing("GET, HEAD".to_owned()))
    };
    web::resource(path)
        .route(handler().method(Method::GET))
        .route(handler().method(Method::HEAD))
        .default_service(web::to(other))
}

/// Checks no server. Otherwise an outage of the database would restart every instance.
async fn live(health: web::Data<Health>) -> HttpResponse {
    let parts = health.standing_still();
    if parts.is_empty() {
        return HttpResponse::Ok().json(serde_json::json!({ "status": "live" }));
    }
    HttpResponse::ServiceUnavailable().json(serde_json::json!({ "status": "standing still", "parts": parts }))
}

async fn ready(health: web::Data<Health>) -> HttpResponse {
    let report = health.report().await;
    if report.is_ready() {
        HttpResponse::Ok().json(report)
    } else {
        HttpResponse::ServiceUnavailable().json(report)
    }
}

#[cfg(test)]
mod tests {
    use database::Settings;
    use futures_util::future::join_all;
    use testkit::{RoundTrips, TestDatabase};
    use tokio::runtime::Handle;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn health_checks_at_the_same_time_share_one_question_to_the_database() {
        let (postgres, counter) = (TestDatabase::plain().await, RoundTrips::to_postgres().await);
        let settings =
            Settings { pool_size: 1, ..Settings::new(postgres.service_url(Some(counter.address()))) };
        let database = Database::new(&settings, Handle::current()).unwrap();
        database.ping().await.unwrap();
        let health = Health::new(database);
        let (reports, round_trips) = counter.of(join_all((0..100).map(|_| health.report()))).await;
        assert!(reports.iter().all(|report| report.database == "not migrated"), "{reports:?}");
        assert_eq!(round_trips, 1);
    }

    #[tokio::test]
    async fn readiness_answers_within_the_limit_of_a_probe_while_the_database_does_not() {
        const PROBE: Duration = Duration::from_secs(3);
        let postgres = TestDatabase::plain().await;
        let pool_wait = Duration::from_mins(1);
        let settings = Settings { pool_size: 1, pool_wait, ..Settings::new(postgres.service_url(None)) };
        let database = Database::new(&settings, Handle::current()).unwrap();
        // The check waits for the only connection, as for a server that is frozen.
        let _held = database.connection().await.unwrap();
        tokio::time::pause();
        let report = timeout(PROBE, Health::new(database).report()).await.expect("a report within the limit");
        assert_eq!(report.database, "away");
    }
}
