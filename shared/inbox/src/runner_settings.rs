//! `RunnerSettings`: attempts, backoff, the limits of parking, and the size of transactions.

use std::time::Duration;

use uuid::Uuid;

/// Attempts and backoff.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// The id of the database. The consumer group shows it for each member; `None`: it does not.
    pub database: Option<Uuid>,
    /// How often a message is tried whose errors are its own, before it is parked.
    pub attempts: u32,
    /// The pause after the first error. It doubles with each further one.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// A message whose handler fails for this long without a success is parked, even if all errors are transient. Otherwise a handler that
    /// always times out would hold its partition for ever. The time starts again when the database fails outside the handler, and after an
    /// error that costs an attempt.
    pub handler_limit: Duration,
    /// So many aggregates are parked for the same reason within [`parking_window`](Self::parking_window). The next message
    /// that fails for this reason waits with its partition.
    pub parking_limit: i64,
    /// The time in which parked aggregates count.
    pub parking_window: Duration,
    /// The pause between two attempts of a message whose partition waits.
    pub stopped_pause: Duration,
    /// The longest time that a message of an ignored type waits for one of its partition that is not ignored, so that one transaction applies
    /// both.
    pub ignored_wait: Duration,
    /// Under load, the shortest time between two transactions: all that arrives in between is applied together. A transaction of
    /// several messages shows load. A single message on an idle consumer waits for no other.
    pub gather: Duration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            database: None,
            attempts: 8,
            first_pause: Duration::from_millis(20),
            longest_pause: Duration::from_secs(2),
            handler_limit: Duration::from_mins(10),
            parking_limit: 10,
            parking_window: Duration::from_mins(10),
            stopped_pause: Duration::from_secs(10),
            ignored_wait: Duration::from_millis(500),
            gather: Duration::from_millis(10),
        }
    }
}
