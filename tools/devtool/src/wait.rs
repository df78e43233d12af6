//! Waits until a server answers a request. A line in its log could come too early.

use std::time::{Duration, Instant};

use messaging::Brokers;

use crate::Result;

const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a connection is accepted; after `timeout`, returns the last error.
pub(crate) async fn postgres(url: &str, timeout: Duration) -> Result<()> {
    until("PostgreSQL", timeout, async |left| {
        match tokio::time::timeout(left, database::connect(url)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no response".to_owned()),
        }
    })
    .await
}

/// Waits until a Metadata request names a broker.
pub(crate) async fn kafka(brokers: &Brokers, timeout: Duration) -> Result<()> {
    until("Kafka", timeout, async |left| {
        messaging::health(brokers, left).await.map_err(|error| error.to_string())
    })
    .await
}

/// Asks until the server answers. `answers` gets the time that is left.
async fn until(server: &str, timeout: Duration, answers: impl AsyncFn(Duration) -> Result<()>) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        let Err(last_error) = answers(left).await else { return Ok(()) };
        if Instant::now() + PAUSE >= deadline {
            return Err(format!("{server} is not ready after {timeout:?}: {last_error}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
