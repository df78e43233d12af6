//! What stands between us and the processor: so many requests at a time, and none while it is down.
//!
//! Our own, because each crate of the field that was looked at (failsafe, recloser, nobreak and their like) lets
//! through whoever comes while it tries whether the other side is back, or counts a call that was cancelled as neither
//! good nor bad. Here one request tries, and one that nobody heard of again has failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// When nothing is sent any more, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Breaker {
    /// So many requests in a row without an answer, or with a 5xx.
    pub failures: u32,
    /// Then one request tries whether the processor is back.
    pub pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Everybody passes; so many in a row have failed.
    Closed(u32),
    /// Nobody passes before this.
    Open(Instant),
    /// One has passed, and everybody waits for what it finds.
    Trying,
}

/// The gate that every request passes.
pub(super) struct Gate {
    slots: Semaphore,
    breaker: Breaker,
    state: Mutex<State>,
}

/// The right to send one request.
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    /// It tries whether the processor is back.
    tries: bool,
    healthy: bool,
    _slot: SemaphorePermit<'a>,
}

impl Gate {
    pub(super) fn new(concurrency: usize, breaker: Breaker) -> Self {
        Self { slots: Semaphore::new(concurrency), breaker, state: Mutex::new(State::Closed(0)) }
    }

    /// Waits for a free place; `None` if nothing may be sent, or not in time.
    pub(super) async fn pass(&self, until: Instant) -> Option<Pass<'_>> {
        let slot = tokio::time::timeout_at(until.into(), self.slots.acquire()).await.ok()?.ok()?;
        let tries = self.admit()?;
        Some(Pass { gate: self, tries, healthy: false, _slot: slot })
    }

    /// Whether this one tries for all; `None` if it may not pass.
    fn admit(&self) -> Option<bool> {
        let mut state = self.state();
        match *state {
            State::Closed(_) => Some(false),
            State::Open(until) if until <= Instant::now() => {
                *state = State::Trying;
                Some(true)
            }
            State::Open(_) | State::Trying => None,
        }
    }

    fn ended(&self, tries: bool, healthy: bool) {
        let mut state = self.state();
        *state = match *state {
            State::Closed(_) if healthy => State::Closed(0),
            State::Closed(failures) if failures.saturating_add(1) < self.breaker.failures => {
                State::Closed(failures + 1)
            }
            State::Trying if tries && healthy => {
                tracing::info!("the processor answers again");
                State::Closed(0)
            }
            State::Closed(_) => {
                tracing::error!("the processor does not answer: nothing is sent for a while");
                State::Open(Instant::now() + self.breaker.pause)
            }
            State::Trying if tries => State::Open(Instant::now() + self.breaker.pause),
            // It was out before the gate closed.
            unchanged @ (State::Open(_) | State::Trying) => unchanged,
        };
    }

    /// What a panic has left is whole: each change is one assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// The processor is well: it has answered, whatever it said.
    pub(super) fn ended_well(mut self) {
        self.healthy = true;
    }
}

/// A request that was given up has failed.
impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.ended(self.tries, self.healthy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn gate(pause: Duration) -> Gate {
        Gate::new(1, Breaker { failures: 2, pause })
    }

    async fn pass(gate: &Gate) -> Option<Pass<'_>> {
        gate.pass(Instant::now() + SOON).await
    }

    #[tokio::test]
    async fn it_closes_after_failures_in_a_row_and_one_request_tries_for_all() {
        let gate = gate(SOON);
        drop(pass(&gate).await.unwrap());
        pass(&gate).await.unwrap().ended_well();
        drop(pass(&gate).await.unwrap());
        drop(pass(&gate).await.unwrap());
        assert!(pass(&gate).await.is_none(), "two in a row have failed");

        tokio::time::sleep(SOON).await;
        let tries = pass(&gate).await.unwrap();
        assert_eq!(gate.admit(), None, "one is trying");
        drop(tries);
        assert!(gate.admit().is_none(), "it has failed as well");

        tokio::time::sleep(SOON).await;
        pass(&gate).await.unwrap().ended_well();
        assert_eq!(gate.admit(), Some(false));
    }

    #[tokio::test]
    async fn what_was_out_before_it_closed_neither_opens_nor_closes_it() {
        let gate = Gate::new(4, Breaker { failures: 1, pause: SOON });
        let (good, bad) = (pass(&gate).await.unwrap(), pass(&gate).await.unwrap());
        drop(pass(&gate).await.unwrap());
        good.ended_well();
        assert!(pass(&gate).await.is_none());
        tokio::time::sleep(SOON).await;
        let tries = pass(&gate).await.unwrap();
        drop(bad);
        tries.ended_well();
        assert!(pass(&gate).await.is_some());
    }

    #[tokio::test]
    async fn who_finds_no_place_in_time_sends_nothing() {
        let gate = gate(SOON);
        let first = pass(&gate).await.unwrap();
        assert!(pass(&gate).await.is_none());
        first.ended_well();
        assert!(pass(&gate).await.is_some());
    }
}
