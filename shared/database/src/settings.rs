//! How to reach PostgreSQL, and the guards that every session gets.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// Connection settings of the service's role.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `postgres://role:password@host:port/database`.
    pub url: SecretString,
    /// Connections at most.
    pub pool_size: usize,
    /// How long a caller waits for a free connection before it is told that the database is unavailable.
    pub pool_wait: Duration,
    /// The longest that one statement may take.
    pub statement_timeout: Duration,
    /// The longest that a statement may wait for a lock.
    pub lock_timeout: Duration,
    /// A transaction that does nothing for this long is ended by the server, and its locks with it.
    pub idle_in_transaction_timeout: Duration,
}

impl Settings {
    /// The defaults for a URL.
    pub fn new(url: impl Into<SecretString>) -> Self {
        Self {
            url: url.into(),
            pool_size: 16,
            pool_wait: Duration::from_secs(1),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            idle_in_transaction_timeout: Duration::from_secs(5),
        }
    }

    /// The URL with the session's settings in it: connection options cost no round trip.
    pub(crate) fn guarded_url(&self) -> SecretString {
        let url = self.url.expose_secret();
        let join = if url.contains('?') { '&' } else { '?' };
        // No statement's best plan depends on its values, so none is planned again for them: with arrays and partitions
        // PostgreSQL would choose to, each time, which costs more than running it (measured).
        let guards = format!(
            "-c%20statement_timeout%3D{}%20-c%20lock_timeout%3D{}%20-c%20idle_in_transaction_session_timeout%3D{}\
             %20-c%20plan_cache_mode%3Dforce_generic_plan",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            self.idle_in_transaction_timeout.as_millis(),
        );
        // tokio-postgres reads all of these in seconds, tcp_user_timeout too (libpq: milliseconds).
        format!(
            "{url}{join}options={guards}&connect_timeout=2&tcp_user_timeout=5&keepalives_idle=5\
             &keepalives_interval=2&keepalives_retries=3"
        )
        .into()
    }
}
