//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

/// The longest that anything in a test may take; far above what it needs, so that a slow machine fails nothing.
const DEADLINE: Duration = Duration::from_mins(1);

/// Polls until the condition gives a value, and panics with `what` if it never does.
pub async fn eventually<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(start.elapsed() < DEADLINE, "waited {DEADLINE:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
