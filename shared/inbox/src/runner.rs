//! Runs a consumer: joins its group, reads batches from Kafka, and gives each to the worker in a task of its own.

use std::pin::pin;
use std::sync::Arc;

use contracts::Topics;
use database::Database;
use messaging::{Brokers, FileWatch, Subscription, SubscriptionSettings};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::consumer::Consumer;
use crate::metrics::InboxMetrics;
use crate::runner_settings::RunnerSettings;
use crate::worker::Worker;

/// Feeds one consumer with the messages of its topics.
pub struct Runner {
    subscription: Subscription,
    files: FileWatch,
    membership: SubscriptionSettings,
    worker: Arc<Worker>,
}

impl Runner {
    /// Joins the consumer's group. Returns at once, also if no broker answers.
    pub fn join(
        database: Database,
        brokers: &Brokers,
        topics: &Topics,
        consumer: Consumer,
        settings: RunnerSettings,
    ) -> Result<Self, messaging::Error> {
        let streams: Vec<String> = consumer.streams().iter().map(|stream| topics.events(*stream)).collect();
        let group = topics.group(consumer.name());
        let instance = settings.instance.clone();
        let lags = database.metrics::<InboxMetrics>().lags.clone();
        let membership = SubscriptionSettings { instance, lags, ..SubscriptionSettings::new(group, streams) };
        let files = brokers.watch_files();
        let subscription = Subscription::start(brokers, membership.clone())?;
        let worker = Worker { database, brokers: brokers.clone(), consumer, settings };
        Ok(Self { subscription, files, membership, worker: Arc::new(worker) })
    }

    /// Is set once the group has assigned partitions.
    pub fn joined(&self) -> Arc<SetOnce<()>> {
        self.subscription.joined()
    }

    /// Runs until `stop` is cancelled, and then finishes the batches that are being applied. Each partition has at most
    /// one batch at a time; a partition that waits does not stop the others.
    pub async fn run(mut self, stop: CancellationToken) {
        while self.worker.read(self.subscription, &mut self.files, &stop).await {
            match Subscription::start(&self.worker.brokers, self.membership.clone()) {
                Ok(subscription) => self.subscription = subscription,
                Err(error) => return tracing::error!(%error, "the consumer cannot join its group again"),
            }
        }
    }
}

impl Worker {
    /// Returns whether the consumer has to join again, because files of the brokers' address were renewed.
    async fn read(
        self: &Arc<Self>,
        mut subscription: Subscription,
        files: &mut FileWatch,
        stop: &CancellationToken,
    ) -> bool {
        let batches = TaskTracker::new();
        let mut renewed = pin!(files.renewed());
        let join_again = loop {
            let batch = tokio::select! {
                batch = subscription.next() => batch,
                () = stop.cancelled() => break false,
                () = &mut renewed => break true,
            };
            let Some(batch) = batch else { break false };
            crashpoint::reach!("consume.batch_received");
            let (worker, stop) = (Arc::clone(self), stop.clone());
            let task = batches.track_future(async move { worker.process(batch, &stop).await });
            self.database.spawn(task);
        };
        batches.close();
        batches.wait().await;
        subscription.shutdown().await;
        join_again
    }
}
