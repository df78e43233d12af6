//! `RefusalLines`: limits the lines about requests that were refused before they counted for a tenant. Anybody can send
//! such requests, so they must not fill the log.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

/// Lines a second on average.
const RATE: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Lines at once.
const BURST: NonZeroU32 = NonZeroU32::new(100).unwrap();

pub(crate) struct RefusalLines<C: Clock = DefaultClock> {
    lines: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
    left_out: AtomicU64,
}

impl<C: Clock> RefusalLines<C> {
    pub(super) fn new(clock: C) -> Self {
        let quota = Quota::per_second(RATE).allow_burst(BURST);
        Self { lines: RateLimiter::direct_with_clock(quota, clock), left_out: AtomicU64::new(0) }
    }

    /// Returns how many lines were left out before this one, or `None` if this one is left out, too.
    pub(crate) fn admit(&self) -> Option<u64> {
        if self.lines.check().is_ok() {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn the_next_line_counts_those_that_were_left_out() {
        let clock = FakeRelativeClock::default();
        let lines = RefusalLines::new(clock.clone());
        let written = |number: usize| (0..number).filter_map(|_| lines.admit()).collect::<Vec<_>>();
        assert_eq!(written(250), [0; 100]);
        clock.advance(Duration::from_millis(100));
        assert_eq!(written(1), [150]);
        clock.advance(Duration::from_millis(200));
        assert_eq!(written(3), [0, 0]);
    }
}
