//! When to ask again: later each time, and not all at once.

use std::time::Duration;

/// Pauses between attempts.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// After the first attempt.
    pub first: Duration,
    /// At most; also the most that the processor may ask for.
    pub longest: Duration,
}

impl Pace {
    /// The pause after this attempt (from 1): doubled with each, then shortened by up to a half so that intents which
    /// failed together do not come back together; never shorter than the processor asks for.
    pub(super) fn pause(&self, attempt: i32, retry_after: Option<Duration>) -> Duration {
        let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0).min(30);
        let pause = self.first.saturating_mul(1 << doublings).min(self.longest);
        let jittered = pause.mul_f64(rand::random_range(0.5..=1.0));
        jittered.max(retry_after.unwrap_or_default()).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { first: Duration::from_millis(200), longest: Duration::from_secs(30) };

    #[test]
    fn pauses_double_up_to_the_longest_and_vary_by_a_half() {
        for (attempt, most) in [(1, 200), (2, 400), (5, 3200), (9, 30_000), (i32::MAX, 30_000)] {
            let most = Duration::from_millis(most);
            for _ in 0..100 {
                let pause = PACE.pause(attempt, None);
                assert!((most / 2..=most).contains(&pause), "attempt {attempt}: {pause:?}");
            }
        }
    }

    #[test]
    fn the_processors_wish_is_granted_within_the_longest() {
        let request = Duration::from_secs(7);
        assert_eq!(PACE.pause(1, Some(request)), request);
        assert_eq!(PACE.pause(1, Some(Duration::from_hours(1))), PACE.longest);
    }
}
