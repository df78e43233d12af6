//! `Edge`: the shared state of all handlers. `EdgeSettings`: limits, policies and times.

use std::sync::Arc;
use std::time::Duration;

use actix_cors::Cors;
use actix_web::middleware::Condition;
use actix_web::{HttpRequest, web};
use database::{Database, GroupSettings};
use idempotency::{GroupExecutor, KeyPolicy, ReplayCache, Retention};

use crate::limits::Limiter;
use crate::{Authenticator, CardNumbers, CorsOrigins, Limits, Problem, problem_types};

/// Limits, policies and times of the HTTP edge.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// How long responses are replayed and keys remembered.
    pub retention: Retention,
    /// The bytes of responses in memory. Replays come from there only while [`ReplayCache::confirm`] is called.
    pub replay_cache: u64,
    /// Which keys are accepted.
    pub key_policy: KeyPolicy,
    /// The largest body, in bytes.
    pub body_limit: usize,
    /// The longest time in which a body must arrive.
    pub body_deadline: Duration,
    /// Whether a client's own reference may contain a card number.
    pub card_numbers_in_references: CardNumbers,
    /// The status of a reused or expired key: 409, or 422 as the IETF draft has it.
    pub mismatch_status: u16,
    /// How long a phased command waits for its outcome. After that the response is 202.
    pub operation_wait: Duration,
    /// Limits of groups of commands that share a commit.
    pub groups: GroupSettings,
    /// The pages that may call the service from a browser.
    pub cors_origins: CorsOrigins,
    /// Serves `/docs/`, the page of the OpenAPI document.
    pub docs: bool,
    /// Rate limits by tenant and by client.
    pub limits: Limits,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            replay_cache: 16 << 20,
            key_policy: KeyPolicy::Uuid,
            body_limit: 32 * 1024,
            body_deadline: Duration::from_secs(10),
            card_numbers_in_references: CardNumbers::default(),
            mismatch_status: 409,
            operation_wait: Duration::from_secs(2),
            groups: GroupSettings::default(),
            cors_origins: CorsOrigins::default(),
            docs: false,
            limits: Limits::default(),
        }
    }
}

/// Shared by all handlers of a process, as actix application data.
#[derive(Clone)]
pub struct Edge {
    pub(crate) database: Database,
    pub(crate) groups: GroupExecutor,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) settings: Arc<EdgeSettings>,
    pub(crate) limiter: Arc<Limiter>,
}

impl Edge {
    /// The shared state for handlers of this database.
    pub fn new(
        database: Database,
        authenticator: impl Into<Arc<Authenticator>>,
        settings: EdgeSettings,
    ) -> Self {
        let limiter = Arc::new(Limiter::new(settings.limits));
        database.attached::<ReplayCache>().open(settings.replay_cache);
        let groups = GroupExecutor::new(database.clone(), settings.retention, settings.groups);
        let (authenticator, settings) = (authenticator.into(), Arc::new(settings));
        Self { database, groups, authenticator, settings, limiter }
    }

    /// The database, for reads.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The middleware for pages of other origins. It comes inside of [`crate::response_headers()`].
    pub fn cors(&self) -> Condition<Cors> {
        self.settings.cors_origins.middleware()
    }

    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let edge = request.app_data::<web::Data<Self>>();
        edge.map(|edge| edge.get_ref().clone()).ok_or_else(|| {
            tracing::error!("the application was built without web::Data<Edge>");
            Problem::new(
                &problem_types::INTERNAL,
                "The service is not set up correctly. This request was not executed.",
            )
        })
    }
}
