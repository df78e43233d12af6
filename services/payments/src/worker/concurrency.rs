//! `Concurrency`: the number of calls that may be in flight. It follows the processor.
//!
//! Each result that comes back soon adds a slot, if all slots are in use. One that is slow, or shows an overload, halves them,
//! once for all calls that began before. The source of the rule is TCP (additive increase, multiplicative decrease), as in
//! Netflix's `AIMDLimit`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The bounds of a [`Concurrency`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The number of slots at first, and at least.
    pub(super) least: usize,
    pub(super) most: usize,
    /// A result that takes longer is slow.
    pub(super) slow: Duration,
}

/// The slots of one lane. One task takes them.
pub(super) struct Concurrency {
    bounds: Bounds,
    state: Mutex<State>,
    freed: Notify,
}

struct State {
    limit: usize,
    in_flight: usize,
    halved_at: Option<Instant>,
}

impl Concurrency {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        let state = State { limit: bounds.least, in_flight: 0, halved_at: None };
        Arc::new(Self { bounds, state: Mutex::new(state), freed: Notify::new() })
    }

    /// Waits for a free slot. Returns the number of free slots.
    pub(super) async fn free(&self) -> usize {
        loop {
            let State { limit, in_flight, .. } = *self.state();
            if let free @ 1.. = limit.saturating_sub(in_flight) {
                return free;
            }
            self.freed.notified().await;
        }
    }

    /// Takes a slot for a call that starts now.
    pub(super) fn start(self: &Arc<Self>) -> Slot {
        self.state().in_flight += 1;
        Slot { concurrency: Arc::clone(self), started: Instant::now() }
    }

    /// A poisoned lock is safe to use: each change is complete.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a call in flight. Its drop frees it.
pub(super) struct Slot {
    concurrency: Arc<Concurrency>,
    started: Instant,
}

impl Slot {
    /// Notes the result of the call.
    pub(super) fn ended(&self, shows_overload: bool) {
        let Bounds { slow, .. } = self.concurrency.bounds;
        let is_bad = shows_overload || self.started.elapsed() > slow;
        self.concurrency.state().ended(self.concurrency.bounds, self.started, is_bad);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.concurrency.state().in_flight -= 1;
        self.concurrency.freed.notify_one();
    }
}

impl State {
    fn ended(&mut self, bounds: Bounds, started: Instant, is_bad: bool) {
        if is_bad {
            // Calls that began before were sent at the earlier concurrency, and say nothing about the present one.
            if self.halved_at.is_none_or(|halved_at| started > halved_at) {
                self.limit = (self.limit / 2).max(bounds.least);
                self.halved_at = Some(Instant::now());
            }
        } else if self.in_flight >= self.limit {
            self.limit = (self.limit + 1).min(bounds.most.max(bounds.least));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { least: 2, most: 5, slow: Duration::from_secs(2) };

    /// The slots after results of calls that began together, with so many calls in flight.
    fn limit_after(limit: usize, in_flight: usize, are_bad: &[bool]) -> usize {
        let (mut state, started) = (State { limit, in_flight, halved_at: None }, Instant::now());
        for is_bad in are_bad {
            state.ended(BOUNDS, started, *is_bad);
        }
        state.limit
    }

    #[test]
    fn results_that_come_back_soon_add_slots_while_all_are_in_use() {
        assert_eq!(limit_after(2, 2, &[false]), 3);
        assert_eq!(limit_after(2, 5, &[false; 9]), 5, "no more than the most");
        assert_eq!(limit_after(3, 2, &[false; 9]), 3, "a slot is free");
    }

    #[test]
    fn bad_results_halve_the_slots_once_for_all_calls_that_began_before() {
        assert_eq!(limit_after(5, 5, &[true]), 2);
        assert_eq!(limit_after(5, 5, &[true, true, false]), 3);
        assert_eq!(limit_after(2, 2, &[true]), 2, "no fewer than the least");
        let mut state = State { limit: 20, in_flight: 20, halved_at: None };
        state.ended(BOUNDS, Instant::now(), true);
        state.ended(BOUNDS, Instant::now() + Duration::from_secs(1), true);
        assert_eq!(state.limit, 5, "a call that began after the first halving");
    }

    #[tokio::test]
    async fn a_slot_is_free_again_after_its_drop_and_a_slow_result_is_bad() {
        let concurrency = Concurrency::new(Bounds { least: 1, most: 8, slow: Duration::ZERO });
        let slot = concurrency.start();
        slot.ended(false);
        assert_eq!(concurrency.state().limit, 1);
        drop(slot);
        assert_eq!(concurrency.free().await, 1);
    }
}
