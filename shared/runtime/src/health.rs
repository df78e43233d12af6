//! Whether this instance can do its work: what load balancers, containers and scripts ask.

use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::http::Method;
use actix_web::{HttpResponse, Resource, ResponseError, Route, web};
use database::Database;
use edge::{Problem, problem_types};
use serde::Serialize;

/// What is known about this instance and the servers that it needs.
pub(crate) struct Health {
    database: Database,
    /// All migrations are applied.
    migrated: AtomicBool,
    /// There are keys that tokens can be checked with.
    keyed: AtomicBool,
    /// The broker has been reached once, and topics are there: from then on, its absence stops nobody.
    connected: AtomicBool,
    broker: AtomicBool,
    stopping: AtomicBool,
}

/// The answer of `/health/ready`. Short words only: it is public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    pub(crate) status: &'static str,
    pub(crate) database: &'static str,
    pub(crate) broker: &'static str,
    pub(crate) keys: &'static str,
}

impl Report {
    /// Whether requests should come here.
    pub(crate) fn is_ready(&self) -> bool {
        self.status == READY
    }
}

const READY: &str = "ready";

impl Health {
    pub(crate) fn new(database: Database) -> Self {
        let [migrated, keyed, connected, broker, stopping] = [const { AtomicBool::new(false) }; 5];
        Self { database, migrated, keyed, connected, broker, stopping }
    }

    /// The tables are as this program expects them.
    pub(crate) fn migrated(&self) {
        self.migrated.store(true, Ordering::Relaxed);
    }

    /// Tokens can be checked.
    pub(crate) fn keyed(&self) {
        self.keyed.store(true, Ordering::Relaxed);
    }

    /// The broker answers, and the topics are there.
    pub(crate) fn connected(&self) {
        self.connected.store(true, Ordering::Relaxed);
        self.broker_answers(true);
    }

    /// What the latest look at the broker showed.
    pub(crate) fn broker_answers(&self, answers: bool) {
        self.broker.store(answers, Ordering::Relaxed);
    }

    /// The end was asked for.
    pub(crate) fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether requests can be carried out, as far as tables and keys are concerned.
    pub(crate) fn is_open(&self) -> bool {
        self.migrated.load(Ordering::Relaxed) && self.keyed.load(Ordering::Relaxed)
    }

    /// Asks the database, and tells what is known about the rest.
    pub(crate) async fn report(&self) -> Report {
        let answers = self.database.ping().await.is_ok();
        let database = match (answers, self.migrated.load(Ordering::Relaxed)) {
            (false, _) => "away",
            (true, false) => "not migrated",
            (true, true) => "ok",
        };
        let broker = if self.broker.load(Ordering::Relaxed) { "ok" } else { "away" };
        let keys = if self.keyed.load(Ordering::Relaxed) { "ok" } else { "away" };
        let started = self.is_open() && self.connected.load(Ordering::Relaxed);
        let status = match (self.is_stopping(), started, answers) {
            (true, ..) => "stopping",
            (false, false, _) => "starting",
            (false, true, false) => "unavailable",
            // Without the broker, orders are still taken: the outbox keeps what there is to tell.
            (false, true, true) => READY,
        };
        Report { status, database, broker, keys }
    }
}

/// Mounts `/health/live` and `/health/ready`; they find [`Health`] in `web::Data`.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(asked("/health/live", || web::to(live))).service(asked("/health/ready", || web::to(ready)));
}

/// What load balancers may ask, with GET or HEAD.
fn asked(path: &str, answer: fn() -> Route) -> Resource {
    let other = || async {
        let detail = "Only GET and HEAD are methods of this path.";
        Problem::new(&problem_types::METHOD_NOT_ALLOWED, detail)
            .allowing("GET, HEAD".to_owned())
            .error_response()
    };
    web::resource(path)
        .route(answer().method(Method::GET))
        .route(answer().method(Method::HEAD))
        .default_service(web::to(other))
}

/// Touches nothing: an instance whose database is away must not be restarted for it.
async fn live() -> HttpResponse {
    HttpResponse::Ok().json(serde_json::json!({ "status": "live" }))
}

async fn ready(health: web::Data<Health>) -> HttpResponse {
    let report = health.report().await;
    if report.is_ready() {
        HttpResponse::Ok().json(report)
    } else {
        HttpResponse::ServiceUnavailable().json(report)
    }
}
