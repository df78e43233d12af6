//! `Gather`: under load, work waits a moment, so that more of it shares a transaction.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Below this, a pause is not worth a timer.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The pause between the starts of two transactions of the same task.
///
/// A transaction with several pieces of work shows load, and the next one starts a full pause after it. After
/// transactions with one piece the pause gets shorter and ends, so that work on an idle process does not wait.
#[derive(Debug, Clone)]
pub struct Gather {
    longest: Duration,
    pause: Duration,
    not_before: Instant,
}

impl Gather {
    /// Pauses at most this long.
    pub fn new(longest: Duration) -> Self {
        Self { longest, pause: Duration::ZERO, not_before: Instant::now() }
    }

    /// Waits until the next transaction may start.
    pub async fn wait(&self) {
        if self.not_before > Instant::now() {
            sleep_until(self.not_before).await;
        }
    }

    /// The time at which the next transaction may start.
    pub fn not_before(&self) -> Instant {
        self.not_before
    }

    /// Notes a transaction with so many pieces of work.
    pub fn started(&mut self, at: Instant, pieces: usize) {
        self.pause = match pieces {
            0 | 1 if self.pause < 2 * SHORTEST_PAUSE => Duration::ZERO,
            0 | 1 => self.pause / 2,
            _ => self.longest,
        };
        self.not_before = at + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_pieces_of_work_begin_a_pause_and_single_ones_end_it() {
        let at = Instant::now();
        let mut gather = Gather::new(Duration::from_millis(10));
        let mut pause_after = |pieces| {
            gather.started(at, pieces);
            (gather.not_before() - at).as_micros()
        };
        assert_eq!(pause_after(1), 0, "an idle process");
        assert_eq!(pause_after(2), 10_000);
        assert_eq!([1, 0, 1, 1].map(&mut pause_after), [5_000, 2_500, 1_250, 0]);
        assert_eq!(pause_after(1), 0);
    }
}
