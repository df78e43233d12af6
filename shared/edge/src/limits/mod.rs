//! `Limits`: rate limits by tenant, by client, and by address for refused tokens and signatures. The load of one does not affect the others.
//!
//! `Buckets` limits what is asked, `Allowance` what counts only once it has happened, and `RefusalLines` the lines of the log.

mod allowance;
mod buckets;
mod client_address;
mod refusal_lines;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::dev::ServiceResponse;
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest};
use envelope::{Caller, TenantId};
use governor::Quota;
use governor::clock::DefaultClock;

use crate::{Edge, Principal, Problem, problem_types};
use allowance::Allowance;
use buckets::Buckets;
use client_address::client_address;
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
    /// The keys that a tenant may use within the time in which responses are replayed.
    pub keys: Option<NonZeroU32>,
    /// The tokens and signatures that are refused to an address in a minute.
    pub failures_per_minute: Option<NonZeroU32>,
    /// The proxies before the service that append the address that they see to `X-Forwarded-For`.
    pub proxies: usize,
}

pub(crate) struct Limiter {
    tenants: Option<Buckets<TenantId>>,
    clients: Option<Buckets<Caller>>,
    keys: Option<Allowance<TenantId>>,
    failures: Option<Allowance<IpAddr>>,
    proxies: usize,
    lines: RefusalLines,
}

impl Limiter {
    /// `key_life` is the time in which responses are replayed.
    pub(crate) fn new(limits: Limits, key_life: Duration) -> Self {
        let rate = |limit: RateLimit| Quota::per_second(limit.per_second).allow_burst(limit.burst);
        let keys = |keys: NonZeroU32| Some(Quota::with_period(key_life / keys.get())?.allow_burst(keys));
        let clock = DefaultClock::default;
        Self {
            tenants: limits.tenant.map(|limit| Buckets::new(rate(limit), clock())),
            clients: limits.client.map(|limit| Buckets::new(rate(limit), clock())),
            keys: limits.keys.and_then(keys).map(|quota| Allowance::new(quota, clock())),
            failures: limits.failures_per_minute.map(|n| Allowance::new(Quota::per_minute(n), clock())),
            proxies: limits.proxies,
            lines: RefusalLines::new(clock()),
        }
    }

    /// Takes a token of this client and one of its tenant; 429 if one of them has none.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), Problem> {
        // The client first: what it is refused does not count for the other clients of its tenant.
        let client = self.clients.as_ref().map_or(Ok(None), |clients| clients.take(caller));
        client.map_err(|wait| limited("This client has sent too many requests.", wait))?;
        let tenant = self.tenants.as_ref().map_or(Ok(None), |tenants| tenants.take(&caller.tenant));
        tenant.map_err(|wait| limited("This tenant has sent too many requests.", wait))?;
        Ok(())
    }

    /// 429 if this tenant has used as many keys as it may.
    pub(crate) fn admit_key(&self, tenant: &TenantId) -> Result<(), Problem> {
        match self.keys.as_ref().and_then(|keys| keys.wait(tenant)) {
            Some(wait) => Err(limited("This tenant has used too many keys.", wait)),
            None => Ok(()),
        }
    }

    /// 429 if too many tokens or signatures of this request's address were refused.
    pub(crate) fn check_address(&self, request: &HttpRequest) -> Result<(), Problem> {
        let failures = self.failures.as_ref();
        match failures.and_then(|failures| failures.wait(&client_address(request, self.proxies))) {
            Some(wait) => Err(limited("Too many tokens or signatures of your address were refused.", wait)),
            None => Ok(()),
        }
    }

    /// Counts a token or a signature that was refused.
    pub(crate) fn count_failure(&self, request: &HttpRequest) {
        if let Some(failures) = &self.failures {
            failures.count(&client_address(request, self.proxies));
        }
    }

    /// Returns how many lines about refused requests were left out before this one, or `None` if this one is left out.
    pub(crate) fn admit_line(&self) -> Option<u64> {
        self.lines.admit()
    }
}

/// Runs this check of a signature, unless too many tokens and signatures of the request's address were refused.
///
/// # Errors
/// [`RATE_LIMITED`](problem_types::RATE_LIMITED), 429, without a check; otherwise the error of `check`, which counts against the
/// address.
pub fn check_signature<T>(
    request: &HttpRequest,
    check: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let limiter = Edge::of(request)?.limiter;
    limiter.check_address(request)?;
    check().inspect_err(|_| limiter.count_failure(request))
}

/// Counts the key of a command that was executed.
pub(crate) fn count_key<B>(response: &ServiceResponse<B>) {
    let request = response.request();
    if response.headers().get("Idempotency-Status").is_some_and(|status| status == "executed")
        && let Some(edge) = request.app_data::<Data<Edge>>()
        && let Some(principal) = request.extensions().get::<Principal>()
        && let Some(keys) = &edge.limiter.keys
    {
        keys.count(principal.tenant());
    }
}

fn limited(what: &str, wait: Duration) -> Problem {
    let detail = format!(
        "{what} This request was not executed; send the same request again after the time in Retry-After."
    );
    Problem::new(&problem_types::RATE_LIMITED, detail).retry_after(wait)
}
