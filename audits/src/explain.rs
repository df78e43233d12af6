//! The statements of `./dev explain`: what one database knows about one order.

use crate::Database;

/// The requests behind operations (`$1`, an array), each with the time of its first row (`$2`). For every service.
pub const REQUESTS: &str = include_str!("../reliability/explain_requests.sql");
/// The inbox of the service `$2`, as far as it is about the aggregates `$1`. Of each service.
pub const INBOX: &str = include_str!("../reliability/explain_inbox.sql");
/// The events of the aggregates `$1` beside rows of the times `$2`, in the outbox of the service `$3`, which has announced `$4` of them. Of
/// each service.
pub const OUTBOX: &str = include_str!("../reliability/explain_outbox.sql");

impl Database {
    /// The rows about the order `$1`. A program beside a service knows no orders: its parameters are the name of a charge there, and the
    /// times of its first and its last attempt.
    pub fn explain(self) -> &'static str {
        let beside = || services::BESIDE.iter().find(|program| program.name == self.name());
        let explain = services::named(self.name()).map(|service| service.explain);
        explain.or_else(|| beside().map(|program| program.explain)).unwrap_or_default()
    }
}
