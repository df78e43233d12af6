//! Waits until a server answers a request. A line in its log could come too early.

use crate::Result;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use rdkafka::{
    ClientConfig,
    consumer::{BaseConsumer, Consumer},
};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a connection is accepted; after `timeout`, returns the last error.
pub(crate) async fn postgres(url: &str, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        let last_error = match tokio::time::timeout(left, AsyncPgConnection::establish(url)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no response".to_owned(),
        };
        if Instant::now() + PAUSE >= deadline {
            return Err(format!("PostgreSQL is not ready after {timeout:?}: {last_error}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until a Metadata request names a broker.
pub(crate) fn kafka(brokers: &str, timeout: Duration) -> Result<()> {
    let client: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "100")
        .create()
        .map_err(|error| format!("cannot make a Kafka client for {brokers}: {error}"))?;
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        let last_error = match client.fetch_metadata(None, left) {
            Ok(metadata) if !metadata.brokers().is_empty() => return Ok(()),
            Ok(_) => "no broker has registered yet".to_owned(),
            Err(error) => error.to_string(),
        };
        if Instant::now() + PAUSE >= deadline {
            return Err(format!("Kafka at {brokers} is not ready after {timeout:?}: {last_error}"));
        }
        std::thread::sleep(PAUSE);
    }
}
