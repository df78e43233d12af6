//! `Backoff`: pauses that double with each attempt.

use std::time::Duration;

/// Pauses that double with each attempt.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The pause after the first attempt.
    pub first: Duration,
    /// The longest pause, even if the processor asks for a longer one.
    pub longest: Duration,
}

impl Backoff {
    /// Returns the pause after attempt number `attempt` (from 1).
    pub fn after(&self, attempt: i32) -> Duration {
        // 30 doublings exceed every permitted `longest`. A number below 1 cannot occur and gives the first pause.
        let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0).min(30);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}
