//! `Settings`: how to reach PostgreSQL, and the timeouts of every session.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// Connection settings of the service's role.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `postgres://role:password@host:port/database`. With several hosts, the one that accepts writes is used.
    pub url: SecretString,
    /// The largest number of connections.
    pub pool_size: usize,
    /// How long a caller waits for a free connection. After that it gets [`Error::Unavailable`](crate::Error::Unavailable).
    pub pool_wait: Duration,
    /// PostgreSQL cancels a statement that runs longer.
    pub statement_timeout: Duration,
    /// PostgreSQL cancels a statement that waits longer for a lock.
    pub lock_timeout: Duration,
    /// PostgreSQL ends a session whose transaction is idle for longer, and so releases its locks.
    pub idle_in_transaction_timeout: Duration,
}

impl Settings {
    /// Default settings for a URL.
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

    /// The settings of every session: its timeouts in milliseconds, and how PostgreSQL plans its statements.
    ///
    /// Each statement is planned once, because no statement's best plan depends on its values. By default PostgreSQL plans
    /// statements with arrays or partitions at every execution, which takes longer than running them (measured).
    /// A plan that was made while a table was small stays in use while the table grows. Without sequential scans, such
    /// a plan goes through an index from the start. A table without an index for the statement then counts as very expensive, and
    /// PostgreSQL would compile the statement (JIT) at each execution: 30 MB for each session, and many times the work.
    pub(crate) fn session_options(&self) -> [(&'static str, String); 6] {
        let milliseconds = |timeout: Duration| timeout.as_millis().to_string();
        [
            ("statement_timeout", milliseconds(self.statement_timeout)),
            ("lock_timeout", milliseconds(self.lock_timeout)),
            ("idle_in_transaction_session_timeout", milliseconds(self.idle_in_transaction_timeout)),
            ("plan_cache_mode", "force_generic_plan".to_owned()),
            ("enable_seqscan", "off".to_owned()),
            ("jit", "off".to_owned()),
        ]
    }

    /// The URL with the session's settings as connection options, because options cost no round trip.
    pub(crate) fn guarded_url(&self) -> SecretString {
        let url = self.url.expose_secret();
        let join = if url.contains('?') { '&' } else { '?' };
        let options: Vec<String> =
            self.session_options().iter().map(|(name, value)| format!("-c%20{name}%3D{value}")).collect();
        let options = options.join("%20");
        let defaults = CONNECTION.iter().filter(|(name, _)| !url.contains(&format!("{name}=")));
        let defaults: Vec<String> = defaults.map(|(name, value)| format!("&{name}={value}")).collect();
        format!("{url}{join}options={options}{}", defaults.concat()).into()
    }
}

/// The parameters of a connection whose URL has none of that name. tokio-postgres reads all times in seconds; libpq reads
/// `tcp_user_timeout` in milliseconds.
const CONNECTION: [(&str, &str); 6] = [
    // A connection to a demoted primary is refused, so that a URL with several hosts leads to the new one.
    ("target_session_attrs", "read-write"),
    ("connect_timeout", "2"),
    ("tcp_user_timeout", "5"),
    ("keepalives_idle", "5"),
    ("keepalives_interval", "2"),
    ("keepalives_retries", "3"),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_parameters_of_a_url_win_over_the_defaults() {
        let config = |url: &str| -> tokio_postgres::Config {
            Settings::new(url).guarded_url().expose_secret().parse().unwrap()
        };
        let plain = config("postgres://orders@db/orders");
        assert_eq!(plain.get_connect_timeout(), Some(&Duration::from_secs(2)));
        let far = config("postgres://orders@db/orders?connect_timeout=10&keepalives_idle=60");
        assert_eq!(far.get_connect_timeout(), Some(&Duration::from_secs(10)));
        assert_eq!(far.get_keepalives_idle(), Duration::from_mins(1));
        assert_eq!(far.get_options(), plain.get_options());
    }
}
