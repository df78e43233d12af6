//! `attempt_again`: repeats a statement that gives up soon, because others wait behind its locks.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::{ErrorClass, Result};

/// With the pauses between them, at least ten seconds.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

/// Attempts the statement again while others hold its locks. `None` if `stop` is cancelled.
///
/// # Errors
/// That of the statement; of the class [`ErrorClass::Contention`] if others held its locks in each attempt, for at least ten
/// seconds.
pub async fn attempt_again<T, F>(
    stop: &CancellationToken,
    mut attempt: impl FnMut() -> F,
) -> Result<Option<T>>
where
    F: Future<Output = Result<T>>,
{
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.class() == ErrorClass::Contention => {}
            result => return result.map(Some),
        }
        if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
            return Ok(None);
        }
    }
    attempt().await.map(Some)
}
