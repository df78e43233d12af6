//! Adds jitter to the pause before the next attempt.

use std::time::Duration;

use crate::domain::Backoff;

impl Backoff {
    /// Returns the pause after attempt number `attempt` (from 1).
    ///
    /// The pause doubles with each attempt. Jitter shortens it by up to a half, so that calls which failed together are
    /// not retried together. The pause is at least `retry_after`, and at most `longest`.
    pub(super) fn pause(&self, attempt: i32, retry_after: Option<Duration>) -> Duration {
        let jittered = self.after(attempt).mul_f64(rand::random_range(0.5..=1.0));
        retry_after.map_or(jittered, |least| jittered.max(least)).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(30) };

    #[test]
    fn pauses_double_up_to_the_longest_and_vary_by_a_half() {
        for (attempt, most) in [(1, 200), (2, 400), (5, 3200), (9, 30_000), (i32::MAX, 30_000)] {
            let most = Duration::from_millis(most);
            for _ in 0..100 {
                let pause = BACKOFF.pause(attempt, None);
                assert!((most / 2..=most).contains(&pause), "attempt {attempt}: {pause:?}");
            }
        }
    }

    #[test]
    fn retry_after_is_kept_within_the_longest_pause() {
        let retry_after = Duration::from_secs(7);
        assert_eq!(BACKOFF.pause(1, Some(retry_after)), retry_after);
        assert_eq!(BACKOFF.pause(1, Some(Duration::from_hours(1))), BACKOFF.longest);
    }
}
