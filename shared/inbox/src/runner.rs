//! Runs a consumer: reads batches from Kafka, applies each as a whole, and after an error message by message.
//!
//! The offset of a batch is stored only after all of its messages are applied, held or parked. A database outage parks
//! no message; the partition waits. Only errors of the message itself count as attempts.

use std::ops::ControlFlow;
use std::sync::Arc;

use contracts::Topics;
use database::Database;
use messaging::{Batch, Brokers, Subscription, SubscriptionSettings};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::HandlerError;
use crate::apply::apply;
use crate::consumer::Consumer;
use crate::error::BatchError;
use crate::message::IncomingMessage;
use crate::metrics::InboxMetrics;
use crate::runner_settings::RunnerSettings;

/// Feeds one consumer with the messages of its topics.
pub struct Runner {
    subscription: Subscription,
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
        let subscription = SubscriptionSettings { instance, ..SubscriptionSettings::new(group, streams) };
        let subscription = Subscription::start(brokers, subscription)?;
        // A second runner on the same database handle, as in tests, shows the lag of the first.
        let _ = database.metrics::<InboxMetrics>().lags.set(subscription.lags());
        let worker = Worker { database, brokers: brokers.clone(), consumer, settings };
        Ok(Self { subscription, worker: Arc::new(worker) })
    }

    /// Is set once the group has assigned partitions.
    pub fn joined(&self) -> Arc<SetOnce<()>> {
        self.subscription.joined()
    }

    /// Runs until `stop` is cancelled, and then finishes the batches that are being applied. Each partition has at most
    /// one batch at a time; a partition that waits does not stop the others.
    pub async fn run(mut self, stop: CancellationToken) {
        let batches = TaskTracker::new();
        while let Some(Some(batch)) = stop.run_until_cancelled(self.subscription.next()).await {
            crashpoint::reach!("consume.batch_received");
            let (worker, stop) = (Arc::clone(&self.worker), stop.clone());
            let task = batches.track_future(async move { worker.process(batch, &stop).await });
            self.worker.database.spawn(task);
        }
        batches.close();
        batches.wait().await;
        self.subscription.shutdown().await;
    }
}

pub(crate) struct Worker {
    pub(crate) database: Database,
    pub(crate) brokers: Brokers,
    pub(crate) consumer: Consumer,
    pub(crate) settings: RunnerSettings,
}

impl Worker {
    /// Applies, holds or parks every message of the batch and then stores its offset. If `stop` is cancelled before,
    /// the batch is dropped, and the next owner of the partition receives it again.
    async fn process(&self, batch: Batch, stop: &CancellationToken) {
        if let Some(record) = batch.unreadable().cloned() {
            return self.skip_or_wait(batch, &record, stop).await;
        }
        if self.apply_all(&batch, stop).await.is_break() {
            return;
        }
        crashpoint::reach!("consume.after_commit");
        batch.done();
        crashpoint::reach!("consume.batch_done");
    }

    async fn apply_all(&self, batch: &Batch, stop: &CancellationToken) -> ControlFlow<()> {
        let metrics: &InboxMetrics = self.database.metrics();
        metrics.batch_size.observe(u32::try_from(batch.messages().len()).map_or(f64::MAX, f64::from));
        let decoded: Result<Vec<IncomingMessage>, HandlerError> =
            batch.messages().iter().map(IncomingMessage::decode_headers).collect();
        if let Ok(messages) = decoded {
            match apply(&self.database, &self.consumer, &messages).await {
                Ok(()) => return ControlFlow::Continue(()),
                Err(BatchError { error, .. }) => {
                    let consumer = self.consumer.name();
                    metrics.failed_attempts.inc();
                    tracing::warn!(consumer, failure = %error, "a batch was rolled back; its messages are applied one by one");
                }
            }
        }
        for received in batch.messages() {
            // Between two messages, because a batch may be long and the process is given a limited time to end.
            if stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            self.apply_one(received, stop).await?;
        }
        ControlFlow::Continue(())
    }
}
