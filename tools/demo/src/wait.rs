//! Waiting for what is to become true, never for a time.

use std::time::{Duration, Instant};

use crate::trouble::Trouble;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// One look: what was waited for, or in words what is there instead.
pub(crate) type Look<T> = Result<T, String>;

/// Looks until there is a value. A look that fails is one that shows nothing yet: servers may be starting.
pub(crate) async fn until<T>(
    what: impl Into<String>,
    patience: Duration,
    look_at: &'static str,
    mut look: impl AsyncFnMut() -> Result<Look<T>, Trouble>,
) -> Result<T, Trouble> {
    let start = Instant::now();
    loop {
        let last = match look().await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => seen,
            // An answer that does not mean what we think will not do so later.
            Err(trouble @ Trouble::Unreadable { .. }) => return Err(trouble),
            Err(trouble) => trouble.to_string(),
        };
        if start.elapsed() >= patience {
            return Err(Trouble::Waited { what: what.into(), patience, last, look: look_at });
        }
        tokio::time::sleep(PAUSE).await;
    }
}
