//! `RetryLog`: which attempts of a loop are logged. A loop makes several attempts a second while its server is away.

use std::time::Duration;

use tokio::time::Instant;

const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The failed attempts of a loop since its last success.
#[derive(Debug, Default)]
pub struct RetryLog {
    /// The time of the first failed attempt, and of the last one that was logged.
    failing: Option<(Instant, Instant)>,
}

impl RetryLog {
    /// Counts a failed attempt. If it is one to log, the first one or one every ten seconds, returns how long attempts have failed.
    pub fn failed(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let is_due = self.failing.is_none_or(|(_, last_line)| now - last_line >= BETWEEN_LINES);
        let (since, last_line) = self.failing.unwrap_or((now, now));
        self.failing = Some((since, if is_due { now } else { last_line }));
        is_due.then(|| now - since)
    }

    /// Counts a successful attempt. If attempts had failed, returns how long, for a line that says so.
    pub fn succeeded(&mut self) -> Option<Duration> {
        self.failing.take().map(|(since, _)| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_logged_at_its_start_every_ten_seconds_and_at_its_end() {
        let (mut log, mut lines) = (RetryLog::default(), 0);
        assert_eq!(log.succeeded(), None);
        for _ in 0..192 {
            lines += u32::from(log.failed().is_some());
            tokio::time::advance(Duration::from_millis(250)).await;
        }
        assert_eq!(lines, 5, "at 0, 10, 20, 30 and 40 s");
        assert_eq!(log.succeeded(), Some(Duration::from_secs(48)));
        assert_eq!(log.failed(), Some(Duration::ZERO), "the next outage");
    }
}
