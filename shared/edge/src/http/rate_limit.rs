//! `RateLimit`: limits the requests of each tenant, so that the load of one tenant does not affect the others.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contracts::TenantId;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::{Problem, problem_types};

/// The limit of each tenant at one process: `burst` requests at once, and `per_second` on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How many tokens the bucket gains each second.
    pub per_second: NonZeroU32,
    /// How many tokens the bucket holds.
    pub burst: NonZeroU32,
}

/// After this many requests, full buckets are removed. A new bucket is full, too.
const BETWEEN_SWEEPS: usize = 1024;

/// A token bucket for each tenant, or no limit.
pub(crate) struct Limiter(Option<Buckets<DefaultClock>>);

impl Limiter {
    pub(crate) fn new(limit: Option<RateLimit>) -> Self {
        Self(limit.map(|limit| Buckets::new(limit, DefaultClock::default())))
    }

    /// Takes a token of this tenant; 429 if there is none.
    pub(crate) fn admit(&self, tenant: &TenantId) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        buckets.take(tenant).map_err(|wait| {
            let detail = "This tenant has sent too many requests. Nothing was done; send the same request again after the \
                          time in Retry-After.";
            Problem::new(&problem_types::RATE_LIMITED, detail).retry_after(wait)
        })
    }
}

struct Buckets<C: Clock> {
    buckets: RateLimiter<TenantId, DashMapStateStore<TenantId>, C, NoOpMiddleware<C::Instant>>,
    requests: AtomicUsize,
}

impl<C: Clock> Buckets<C> {
    fn new(limit: RateLimit, clock: C) -> Self {
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        let buckets = RateLimiter::new(quota, DashMapStateStore::default(), clock);
        Self { buckets, requests: AtomicUsize::new(0) }
    }

    /// Takes a token, or returns the time until the next one.
    fn take(&self, tenant: &TenantId) -> Result<(), Duration> {
        if self.requests.fetch_add(1, Ordering::Relaxed) % BETWEEN_SWEEPS == BETWEEN_SWEEPS - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(tenant).map_err(|until| until.wait_time_from(self.buckets.clock().now()))
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn tenant(name: &str) -> TenantId {
        name.parse().unwrap()
    }

    fn buckets(per_second: u32, burst: u32) -> (Buckets<FakeRelativeClock>, FakeRelativeClock) {
        let [per_second, burst] = [per_second, burst].map(|n| NonZeroU32::new(n).unwrap());
        let clock = FakeRelativeClock::default();
        (Buckets::new(RateLimit { per_second, burst }, clock.clone()), clock)
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let (buckets, clock) = buckets(10, 20);
        let allowed = |within: Duration| {
            clock.advance(within);
            (0..100).take_while(|_| buckets.take(&tenant("acme")).is_ok()).count()
        };
        assert_eq!(allowed(Duration::ZERO), 20);
        assert_eq!(allowed(Duration::from_millis(99)), 0);
        assert_eq!(allowed(Duration::from_millis(1)), 1);
        assert_eq!(allowed(Duration::from_secs(1)), 10);
        assert_eq!(allowed(Duration::from_hours(1)), 20);
    }

    #[test]
    fn a_client_that_waits_as_long_as_retry_after_says_is_admitted() {
        let (buckets, clock) = buckets(3, 1);
        buckets.take(&tenant("acme")).unwrap();
        let wait = buckets.take(&tenant("acme")).unwrap_err();
        clock.advance(wait);
        buckets.take(&tenant("acme")).unwrap();
    }

    #[test]
    fn buckets_of_idle_tenants_are_forgotten() {
        let (buckets, clock) = buckets(100, 200);
        for n in 0..50 * BETWEEN_SWEEPS {
            buckets.take(&tenant(&n.to_string())).unwrap();
            clock.advance(Duration::from_millis(10));
        }
        // Tenants since the last sweep, and tenants whose buckets were not full at that sweep.
        assert!(buckets.buckets.len() <= 2 * BETWEEN_SWEEPS, "{}", buckets.buckets.len());
    }
}
