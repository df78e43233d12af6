//! The membership of a consumer in its group: its topics, its name, and when it gives its partitions away.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use database::{Database, Heartbeats};
use envelope::Topics;
use messaging::SubscriptionSettings;

use crate::consumer::Consumer;
use crate::metrics::InboxMetrics;
use crate::runner_settings::RunnerSettings;

/// A process that makes no progress for so long reads nothing more. If it goes on like this, it leaves the group.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The settings of the consumer's subscription.
pub(crate) fn membership(
    database: &Database,
    topics: &Topics,
    consumer: &Consumer,
    settings: &RunnerSettings,
) -> SubscriptionSettings {
    let streams: Vec<String> = consumer.streams().iter().map(|stream| topics.events(*stream)).collect();
    let group = topics.group(consumer.name());
    let (ignoring, metrics) = (consumer.clone(), database.metrics::<InboxMetrics>());
    let missing = metrics.missing_records.clone();
    SubscriptionSettings {
        // An ignored message has no effect that anybody waits for. Beside a handled message it needs no transaction of its own.
        may_wait: Arc::new(move |message| ignoring.ignores(message)),
        longest_wait: settings.ignored_wait,
        client: settings.database.map_or_else(|| group.clone(), |id| member_of(&group, id)),
        count_missing: Arc::new(move |records| {
            missing.inc_by(records);
        }),
        lags: metrics.lags.clone(),
        progress: check_progress(database.heartbeats().clone()),
        ..SubscriptionSettings::new(group, streams)
    }
}

/// The name that a group shows for its members with this database.
pub fn member_of(group: &str, database: impl Display) -> String {
    format!("{group}@{database}")
}

/// The question of the subscription before it polls. The subscription is a part of the process itself: it beats when it asks.
///
/// The client's own threads would keep the membership: they send heartbeats to the group whatever becomes of the batches.
fn check_progress(heartbeats: Heartbeats) -> Arc<dyn Fn() -> bool + Send + Sync> {
    let subscription = heartbeats.of("subscription");
    Arc::new(move || {
        subscription.beat();
        heartbeats.standing_still(STANDSTILL).is_empty()
    })
}
