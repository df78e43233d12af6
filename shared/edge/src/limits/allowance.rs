//! `Allowance`: limits what counts only once it has happened, such as a login that failed.

use std::time::Duration;

use governor::Quota;
use governor::clock::{Clock, DefaultClock, Reference};
use quick_cache::sync::Cache;

use super::buckets::{Buckets, Holder};

/// The largest number of holders that are refused at a time. Beyond it, a rarely seen one may try again.
const CAPACITY: usize = 4096;

pub(super) struct Allowance<K: Holder, C: Clock = DefaultClock> {
    buckets: Buckets<K, C>,
    /// Until when those are refused whose bucket is empty.
    refused: Cache<K, C::Instant>,
}

impl<K: Holder, C: Clock> Allowance<K, C> {
    pub(super) fn new(quota: Quota, clock: C) -> Self {
        Self { buckets: Buckets::new(quota, clock), refused: Cache::new(CAPACITY) }
    }

    /// The time until this holder may try again; `None` if it may now.
    pub(super) fn wait(&self, of: &K) -> Option<Duration> {
        let until = self.refused.get(of)?;
        let left = Duration::from(until.duration_since(self.buckets.clock().now()));
        (!left.is_zero()).then_some(left)
    }

    /// Counts what has happened.
    pub(super) fn count(&self, of: &K) {
        if let Ok(Some(wait)) | Err(wait) = self.buckets.take(of) {
            let until = self.buckets.clock().now() + wait.into();
            self.refused.insert(of.clone(), until);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn allowance(per_minute: u32) -> (Allowance<usize, FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Allowance::new(Quota::per_minute(NonZeroU32::new(per_minute).unwrap()), clock.clone()), clock)
    }

    #[test]
    fn after_as_many_as_are_allowed_one_waits_for_each_further_one() {
        let (allowance, clock) = allowance(6);
        let allowed = |within: Duration| {
            clock.advance(within);
            (0..100).take_while(|_| allowance.wait(&1).is_none()).map(|_| allowance.count(&1)).count()
        };
        assert_eq!(allowed(Duration::ZERO), 6);
        assert_eq!(allowance.wait(&1), Some(Duration::from_secs(10)));
        assert_eq!(allowance.wait(&2), None, "another holder");
        assert_eq!(allowed(Duration::from_secs(9)), 0);
        assert_eq!(allowed(Duration::from_secs(1)), 1);
        assert_eq!(allowed(Duration::from_mins(1)), 6);
    }

    #[test]
    fn what_did_not_happen_is_not_counted() {
        let (allowance, _) = allowance(1);
        assert!((0..100).all(|_| allowance.wait(&1).is_none()));
        allowance.count(&1);
        assert!(allowance.wait(&1).is_some());
    }

    #[test]
    fn a_flood_from_many_addresses_takes_bounded_memory() {
        let (allowance, _) = allowance(1);
        (0..3 * CAPACITY).for_each(|address| allowance.count(&address));
        assert!(allowance.refused.len() <= CAPACITY, "{}", allowance.refused.len());
    }
}
