//! What every service does by itself, beside its own jobs.

use std::sync::Arc;
use std::time::Duration;

use database::Database;
use messaging::Brokers;
use tokio_util::sync::CancellationToken;

use crate::health::Health;

/// Between two rounds; partitions are made a week ahead, so a missed round costs nothing.
const ROUND: Duration = Duration::from_hours(1);
/// After a round that failed.
const AGAIN: Duration = Duration::from_mins(1);

/// Makes the outbox's partitions, now and hourly.
pub(crate) async fn run(database: Database, stop: CancellationToken) -> Result<(), String> {
    while !stop.is_cancelled() {
        let pause = match outbox::make_partitions(&database).await {
            Ok(0) => ROUND,
            Ok(made) => {
                tracing::info!(made, "outbox partitions made");
                ROUND
            }
            Err(error) => {
                tracing::warn!(%error, "outbox partitions were not made; new rows go to the default partition until they are");
                AGAIN
            }
        };
        let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
    Ok(())
}

/// Between two looks at the broker.
const LOOK: Duration = Duration::from_secs(5);

/// Keeps readiness informed about the broker. Its clients log for themselves when it goes and comes.
pub(crate) async fn watch_broker(
    brokers: Brokers,
    health: Arc<Health>,
    stop: CancellationToken,
) -> Result<(), String> {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        let looked = stop.run_until_cancelled(messaging::health(&brokers, LOOK)).await;
        if let Some(looked) = looked {
            health.broker_answers(looked.is_ok());
        }
    }
    Ok(())
}
