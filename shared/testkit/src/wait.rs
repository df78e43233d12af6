//! Waits for a condition, not for a time.

use std::time::{Duration, Instant};

/// The longest wait. It is far longer than any condition needs, so that no test fails on a slow machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// The shortest and the longest pause between two looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(100)];

/// Polls until the condition returns a value. Panics with `what` after a minute.
pub async fn eventually<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        let looked_at = Instant::now();
        if let Some(value) = condition().await {
            return value;
        }
        assert!(start.elapsed() < DEADLINE, "waited {DEADLINE:?} in vain: {what}");
        pause_after(looked_at.elapsed()).await;
    }
}

/// Polls until the work is done, and panics with `what` once its progress has not changed for a minute. For work whose amount
/// depends on the speed of the machine.
pub async fn eventually_done<P: PartialEq>(what: &str, mut progress: impl AsyncFnMut() -> Option<P>) {
    let (mut last, mut changed) = (None, Instant::now());
    let mut looked_at = Instant::now();
    while let Some(now) = progress().await {
        if last.as_ref() != Some(&now) {
            (last, changed) = (Some(now), Instant::now());
        }
        assert!(changed.elapsed() < DEADLINE, "nothing has changed for {DEADLINE:?}: {what}");
        pause_after(looked_at.elapsed()).await;
        looked_at = Instant::now();
    }
}

/// A look takes processor time from the work that it waits for. So a long look is followed by a longer pause.
async fn pause_after(look: Duration) {
    let [shortest, longest] = PAUSES;
    tokio::time::sleep((look * 2).clamp(shortest, longest)).await;
}
