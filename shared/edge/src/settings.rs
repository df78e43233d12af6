//! What every handler's surroundings need to know.

use std::sync::Arc;
use std::time::Duration;

use database::Database;
use idempotency::{KeyPolicy, Retention};

use crate::Authenticator;

/// How strict, how large, how long.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// How long answers are replayed.
    pub retention: Retention,
    /// Which keys are accepted.
    pub key_policy: KeyPolicy,
    /// The largest body, in bytes.
    pub body_limit: usize,
    /// The longest that a body may take to arrive.
    pub body_deadline: Duration,
    /// The status of a reused or expired key: 409, or 422 as the IETF draft has it.
    pub mismatch_status: u16,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            key_policy: KeyPolicy::Uuid,
            body_limit: 32 * 1024,
            body_deadline: Duration::from_secs(10),
            mismatch_status: 409,
        }
    }
}

/// Shared by all handlers of a process, as actix application data.
#[derive(Clone)]
pub struct Edge {
    pub(crate) database: Database,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) settings: Arc<EdgeSettings>,
}

impl Edge {
    /// The surroundings of this database's handlers.
    pub fn new(database: Database, authenticator: Authenticator, settings: EdgeSettings) -> Self {
        Self { database, authenticator: Arc::new(authenticator), settings: Arc::new(settings) }
    }

    /// For reads.
    pub fn database(&self) -> &Database {
        &self.database
    }
}
