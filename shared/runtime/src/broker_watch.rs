//! Checks the broker for readiness.

use std::sync::Arc;
use std::time::Duration;

use messaging::Brokers;
use tokio_util::sync::CancellationToken;

use crate::health::Health;

/// The pause between two checks of the broker, and the time limit of one.
const CHECK: Duration = Duration::from_secs(5);

/// Reports to `health` whether the broker answers. The Kafka clients log its outages themselves.
pub(crate) async fn watch_broker(
    brokers: Brokers,
    health: Arc<Health>,
    stop: CancellationToken,
) -> Result<(), String> {
    while stop.run_until_cancelled(tokio::time::sleep(CHECK)).await.is_some() {
        let checked = stop.run_until_cancelled(messaging::health(&brokers, CHECK)).await;
        if let Some(checked) = checked {
            health.set_broker_reachable(checked.is_ok());
        }
    }
    Ok(())
}
