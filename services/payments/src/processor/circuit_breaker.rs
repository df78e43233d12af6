//! The circuit breaker in front of the processor, and the limit of concurrent requests.
//!
//! Closed: requests pass. Open: requests are refused without being sent. Half-open: one trial request passes, and the
//! others are refused until it has ended.
//!
//! No crate of the field was used. Those that were examined (failsafe, recloser, nobreak) let every request pass while
//! half-open, or do not count a cancelled request. Here one request is the trial, and a cancelled request has failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// When the circuit breaker opens, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct BreakerSettings {
    /// It opens after this number of consecutive requests without a response or with a 5xx.
    pub failures: u32,
    /// It stays open for this time. Then one trial request passes.
    pub pause: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests pass. Holds the number of consecutive failures.
    Closed(u32),
    /// Requests are refused until this time.
    Open(Instant),
    /// The trial request is in flight. All other requests are refused.
    HalfOpen,
}

/// The names of the states, for operators.
pub(crate) const BREAKER_STATES: [&str; 3] = ["closed", "open", "half_open"];

/// The circuit breaker. Every request needs a permit of it.
pub(super) struct CircuitBreaker {
    slots: Semaphore,
    settings: BreakerSettings,
    state: Mutex<State>,
}

/// The permission to send one request. Dropping it without [`Permit::succeeded`] counts a failure.
pub(super) struct Permit<'a> {
    breaker: &'a CircuitBreaker,
    /// The request is the trial of the half-open state.
    is_trial: bool,
    has_succeeded: bool,
    _slot: SemaphorePermit<'a>,
}

impl CircuitBreaker {
    pub(super) fn new(concurrency: usize, settings: BreakerSettings) -> Self {
        Self { slots: Semaphore::new(concurrency), settings, state: Mutex::new(State::Closed(0)) }
    }

    /// Waits for a free slot until `until`, and returns a permit. Returns `None` if no slot is free in time, or if the
    /// circuit breaker refuses the request.
    pub(super) async fn acquire(&self, until: Instant) -> Option<Permit<'_>> {
        let slot = tokio::time::timeout_at(until.into(), self.slots.acquire()).await.ok()?.ok()?;
        let is_trial = self.admit()?;
        Some(Permit { breaker: self, is_trial, has_succeeded: false, _slot: slot })
    }

    /// Returns whether the request is the trial; `None` if it is refused.
    fn admit(&self) -> Option<bool> {
        let mut state = self.state();
        match *state {
            State::Closed(_) => Some(false),
            State::Open(until) if until <= Instant::now() => {
                *state = State::HalfOpen;
                Some(true)
            }
            State::Open(_) | State::HalfOpen => None,
        }
    }

    /// Returns one of [`BREAKER_STATES`].
    pub(super) fn state_name(&self) -> &'static str {
        let [closed, open, half_open] = BREAKER_STATES;
        match *self.state() {
            State::Closed(_) => closed,
            State::Open(_) => open,
            State::HalfOpen => half_open,
        }
    }

    fn ended(&self, is_trial: bool, has_succeeded: bool) {
        let mut state = self.state();
        *state = match *state {
            State::Closed(_) if has_succeeded => State::Closed(0),
            State::Closed(failures) if failures.saturating_add(1) < self.settings.failures => {
                State::Closed(failures + 1)
            }
            State::HalfOpen if is_trial && has_succeeded => {
                tracing::info!("the circuit breaker is closed: the processor responds again");
                State::Closed(0)
            }
            State::Closed(_) => {
                tracing::error!(
                    "the circuit breaker is open: the processor does not respond, and requests are refused for a while"
                );
                State::Open(Instant::now() + self.settings.pause)
            }
            State::HalfOpen if is_trial => State::Open(Instant::now() + self.settings.pause),
            // The request was sent before the circuit breaker opened.
            unchanged @ (State::Open(_) | State::HalfOpen) => unchanged,
        };
    }

    /// A poisoned lock is safe to use: each update is a single assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Records that the processor responded, with success or with an error.
    pub(super) fn succeeded(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.breaker.ended(self.is_trial, self.has_succeeded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn breaker(pause: Duration) -> CircuitBreaker {
        CircuitBreaker::new(1, BreakerSettings { failures: 2, pause })
    }

    async fn acquire(breaker: &CircuitBreaker) -> Option<Permit<'_>> {
        breaker.acquire(Instant::now() + SOON).await
    }

    #[tokio::test]
    async fn it_opens_after_consecutive_failures_and_one_request_is_the_trial() {
        let breaker = breaker(SOON);
        drop(acquire(&breaker).await.unwrap());
        acquire(&breaker).await.unwrap().succeeded();
        drop(acquire(&breaker).await.unwrap());
        drop(acquire(&breaker).await.unwrap());
        assert!(acquire(&breaker).await.is_none(), "two consecutive requests have failed");

        tokio::time::sleep(SOON).await;
        let trial = acquire(&breaker).await.unwrap();
        assert_eq!(breaker.admit(), None, "the trial is in flight");
        drop(trial);
        assert!(breaker.admit().is_none(), "the trial has failed");

        tokio::time::sleep(SOON).await;
        acquire(&breaker).await.unwrap().succeeded();
        assert_eq!(breaker.admit(), Some(false));
    }

    #[tokio::test]
    async fn a_request_from_before_it_opened_changes_nothing() {
        let breaker = CircuitBreaker::new(4, BreakerSettings { failures: 1, pause: SOON });
        let (good, bad) = (acquire(&breaker).await.unwrap(), acquire(&breaker).await.unwrap());
        drop(acquire(&breaker).await.unwrap());
        good.succeeded();
        assert!(acquire(&breaker).await.is_none());
        tokio::time::sleep(SOON).await;
        let trial = acquire(&breaker).await.unwrap();
        drop(bad);
        trial.succeeded();
        assert!(acquire(&breaker).await.is_some());
    }

    #[tokio::test]
    async fn a_request_without_a_slot_in_time_is_not_sent() {
        let breaker = breaker(SOON);
        let first = acquire(&breaker).await.unwrap();
        assert!(acquire(&breaker).await.is_none());
        first.succeeded();
        assert!(acquire(&breaker).await.is_some());
    }
}
