//! Waits for a server that is not reachable: without limit, with backoff, and with a log line every ten seconds.

use std::time::Duration;

use database::RetryLog;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Why an attempt failed.
pub(crate) enum WaitError {
    /// Another attempt may succeed.
    Transient(String),
    /// Every further attempt would fail, too.
    Permanent(String),
}

/// Tries until an attempt succeeds or fails permanently. `what` completes the log line "waiting for …".
pub(crate) async fn wait_for<T, Attempt>(
    what: &'static str,
    mut attempt: impl FnMut() -> Attempt,
) -> Result<T, String>
where
    Attempt: Future<Output = Result<T, WaitError>>,
{
    let (mut log, mut pause) = (RetryLog::default(), FIRST_PAUSE);
    loop {
        match attempt().await {
            Ok(value) => {
                if let Some(waited) = log.succeeded() {
                    tracing::info!(?waited, "no longer waiting for {what}");
                }
                return Ok(value);
            }
            Err(WaitError::Permanent(why)) => return Err(why),
            Err(WaitError::Transient(why)) => {
                if let Some(waited) = log.failed() {
                    tracing::warn!(?waited, "waiting for {what}: {why}");
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_transient_error_is_waited_out_and_a_lasting_one_is_not() {
        let mut attempts = 0;
        let done = wait_for("this test", || {
            attempts += 1;
            let now = attempts;
            async move { if now < 3 { Err(WaitError::Transient("not yet".to_owned())) } else { Ok(now) } }
        });
        assert_eq!(done.await, Ok(3));
        let never = wait_for("this test", async || Err::<(), _>(WaitError::Permanent("never".to_owned())));
        assert_eq!(never.await, Err("never".to_owned()));
    }
}
