//! How much one tenant may ask, so that a flood of one is not an outage of all.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contracts::TenantId;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::{Problem, problem_types};

/// What each tenant may send to one process: `burst` requests at once, and `per_second` in the long run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// How fast the bucket fills.
    pub per_second: NonZeroU32,
    /// How much it holds.
    pub burst: NonZeroU32,
}

/// After this many requests, buckets that are full again are forgotten: they are as good as new.
const BETWEEN_SWEEPS: usize = 1024;

/// A token bucket for each tenant, or no limit.
pub(crate) struct Limiter(Option<Buckets<DefaultClock>>);

impl Limiter {
    pub(crate) fn new(limit: Option<RateLimit>) -> Self {
        Self(limit.map(|limit| Buckets::new(limit, DefaultClock::default())))
    }

    /// Takes one token of this tenant; 429 if there is none.
    pub(crate) fn admit(&self, tenant: &TenantId) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        buckets.take(tenant).map_err(|wait| {
            let detail = "This tenant has sent too many requests; nothing was done. Wait as long as Retry-After says, \
                          then send the same request again.";
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

    /// Takes a token, or tells when there will be one.
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
    fn whoever_waits_as_long_as_told_is_let_in() {
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
        // Those who came since the last sweep, and those who had not been idle for long enough.
        assert!(buckets.buckets.len() <= 2 * BETWEEN_SWEEPS, "{}", buckets.buckets.len());
    }
}
