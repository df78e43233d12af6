//! Waiting for a condition, with a limit, never for a time.

use std::time::{Duration, Instant};

use crate::{Error, Result};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// One look: the awaited value, or in words what is there instead.
pub type Look<T> = std::result::Result<T, String>;

/// Looks until there is a value, and fails after `limit`. `hint` names the command that shows more.
///
/// A look that fails shows nothing yet, because servers may be starting. Only an unreadable response ends the wait at once:
/// another look would read the same.
pub async fn until<T>(
    condition: impl Into<String>,
    limit: Duration,
    hint: impl Into<String>,
    mut look: impl AsyncFnMut() -> Result<Look<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        let last = match look().await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => seen,
            Err(error @ Error::Unreadable { .. }) => return Err(error),
            Err(error) => error.to_string(),
        };
        if start.elapsed() >= limit {
            return Err(Error::Timeout { condition: condition.into(), limit, last, hint: hint.into() });
        }
        tokio::time::sleep(PAUSE).await;
    }
}
