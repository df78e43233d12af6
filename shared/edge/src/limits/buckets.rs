//! `Buckets`: a token bucket for each tenant or client.

use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

/// After this many tokens, full buckets are removed. A new bucket is full, too.
const BETWEEN_SWEEPS: usize = 1024;

pub(super) struct Buckets<K: Hash + Eq + Clone, C: Clock = DefaultClock> {
    buckets: RateLimiter<K, DashMapStateStore<K>, C, NoOpMiddleware<C::Instant>>,
    taken: AtomicUsize,
}

impl<K: Hash + Eq + Clone, C: Clock> Buckets<K, C> {
    pub(super) fn new(quota: Quota, clock: C) -> Self {
        let buckets = RateLimiter::new(quota, DashMapStateStore::default(), clock);
        Self { buckets, taken: AtomicUsize::new(0) }
    }

    /// Takes a token. Without one, the error is the time until there is one.
    pub(super) fn take(&self, of: &K) -> Result<(), Duration> {
        if self.taken.fetch_add(1, Ordering::Relaxed) % BETWEEN_SWEEPS == BETWEEN_SWEEPS - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(of).map_err(|until| until.wait_time_from(self.buckets.clock().now()))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn buckets(per_second: u32, burst: u32) -> (Buckets<usize, FakeRelativeClock>, FakeRelativeClock) {
        let [per_second, burst] = [per_second, burst].map(|n| NonZeroU32::new(n).unwrap());
        let clock = FakeRelativeClock::default();
        (Buckets::new(Quota::per_second(per_second).allow_burst(burst), clock.clone()), clock)
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let (buckets, clock) = buckets(10, 20);
        let allowed = |within: Duration| {
            clock.advance(within);
            (0..100).take_while(|_| buckets.take(&1).is_ok()).count()
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
        buckets.take(&1).unwrap();
        let wait = buckets.take(&1).unwrap_err();
        clock.advance(wait);
        buckets.take(&1).unwrap();
    }

    #[test]
    fn buckets_of_idle_tenants_are_forgotten() {
        let (buckets, clock) = buckets(100, 200);
        for n in 0..50 * BETWEEN_SWEEPS {
            buckets.take(&n).unwrap();
            clock.advance(Duration::from_millis(10));
        }
        // Tenants since the last sweep, and tenants whose buckets were not full at that sweep.
        assert!(buckets.buckets.len() <= 2 * BETWEEN_SWEEPS, "{}", buckets.buckets.len());
    }
}
