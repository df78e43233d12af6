//! `Limits`: rate limits by tenant and by client. The load of one does not affect the others.
//!
//! `Buckets` limits requests, and `RefusalLines` the lines of the log.

mod buckets;
mod refusal_lines;

use std::num::NonZeroU32;
use std::time::Duration;

use envelope::{Caller, TenantId};
use governor::Quota;
use governor::clock::DefaultClock;

use crate::{Problem, problem_types};
use buckets::Buckets;
use refusal_lines::RefusalLines;

/// A limit at one process: `burst` requests at once, and `per_second` on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How many tokens the bucket gains each second.
    pub per_second: NonZeroU32,
    /// How many tokens the bucket holds.
    pub burst: NonZeroU32,
}

/// The limits of one process; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The requests of a tenant.
    pub tenant: Option<RateLimit>,
    /// The requests of each client of a tenant.
    pub client: Option<RateLimit>,
}

pub(crate) struct Limiter {
    tenants: Option<Buckets<TenantId>>,
    clients: Option<Buckets<Caller>>,
    /// The lines about requests that were refused before they counted for a tenant.
    pub(crate) lines: RefusalLines,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        let rate = |limit: RateLimit| Quota::per_second(limit.per_second).allow_burst(limit.burst);
        Self {
            tenants: limits.tenant.map(|limit| Buckets::new(rate(limit), DefaultClock::default())),
            clients: limits.client.map(|limit| Buckets::new(rate(limit), DefaultClock::default())),
            lines: RefusalLines::new(DefaultClock::default()),
        }
    }

    /// Takes a token of this client and one of its tenant; 429 if one of them has none.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), Problem> {
        // The client first: what it is refused does not count for the other clients of its tenant.
        let client = self.clients.as_ref().map_or(Ok(()), |clients| clients.take(caller));
        client.map_err(|wait| limited("This client has sent too many requests.", wait))?;
        let tenant = self.tenants.as_ref().map_or(Ok(()), |tenants| tenants.take(&caller.tenant));
        tenant.map_err(|wait| limited("This tenant has sent too many requests.", wait))
    }
}

fn limited(what: &str, wait: Duration) -> Problem {
    let detail = format!(
        "{what} This request was not executed; send the same request again after the time in Retry-After."
    );
    Problem::new(&problem_types::RATE_LIMITED, detail).retry_after(wait)
}
