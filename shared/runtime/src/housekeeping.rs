//! Background tasks of every service: it creates outbox partitions and checks the broker for readiness.

use std::sync::Arc;
use std::time::Duration;

use database::Database;
use messaging::Brokers;
use tokio_util::sync::CancellationToken;

use crate::health::Health;

/// The pause between two rounds. Partitions are created a week ahead, so a missed round does no harm.
const ROUND: Duration = Duration::from_hours(1);
/// The pause after a failed round.
const RETRY: Duration = Duration::from_mins(1);

/// Creates the partitions of the outbox, now and every hour.
pub(crate) async fn run(database: Database, stop: CancellationToken) -> Result<(), String> {
    while !stop.is_cancelled() {
        let Some(made) = stop.run_until_cancelled(outbox::make_partitions(&database)).await else { break };
        let pause = match made {
            Ok(0) => ROUND,
            Ok(made) => {
                tracing::info!(made, "outbox partitions created");
                ROUND
            }
            Err(error) => {
                tracing::warn!(%error, "outbox partitions were not created; until they are, new rows go to the default partition");
                RETRY
            }
        };
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
    Ok(())
}

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
