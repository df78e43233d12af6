//! Whether Kafka answers: for readiness, and for waiting at start.

use std::time::Duration;

use crate::{Brokers, Error, client};

/// Succeeds once a broker has answered a metadata request with at least one broker's name. A broker that merely
/// accepts connections is not ready.
pub async fn health(brokers: &Brokers, timeout: Duration) -> Result<(), Error> {
    let brokers = brokers.clone();
    client::blocking(move || {
        let metadata = client::metadata(&client::questioner(&brokers)?, &brokers, timeout)?;
        if metadata.brokers().is_empty() {
            let reason = "it knows no broker yet".to_owned();
            return Err(Error::Unreachable { brokers: brokers.to_string(), timeout, reason });
        }
        Ok(())
    })
    .await
}
