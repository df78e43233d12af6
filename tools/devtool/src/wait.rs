//! Waiting by asking: a server is ready when it answers what its clients ask, not when its log says so.

use crate::Result;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use rdkafka::{
    ClientConfig,
    consumer::{BaseConsumer, Consumer},
};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a connection is accepted; reports the last refusal after `timeout`.
pub(crate) async fn postgres(url: &str, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        let refusal = match tokio::time::timeout(left, AsyncPgConnection::establish(url)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        if Instant::now() + PAUSE >= deadline {
            return Err(format!("PostgreSQL is not ready after {timeout:?}: {refusal}"));
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
        let refusal = match client.fetch_metadata(None, left) {
            Ok(metadata) if !metadata.brokers().is_empty() => return Ok(()),
            Ok(_) => "no broker has registered yet".to_owned(),
            Err(error) => error.to_string(),
        };
        if Instant::now() + PAUSE >= deadline {
            return Err(format!("Kafka at {brokers} is not ready after {timeout:?}: {refusal}"));
        }
        std::thread::sleep(PAUSE);
    }
}
