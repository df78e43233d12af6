//! From Kafka to the reactions: whole batches first, then message by message, and never past what is not dealt with.

use std::ops::ControlFlow;
use std::time::Duration;

use contracts::Topics;
use database::Database;
use messaging::{Batch, Brokers, Received, Subscription, SubscriptionSettings};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::HandlerError;
use crate::apply::{apply, park_held, put_aside};
use crate::consumer::Consumer;
use crate::failure::Stopped;
use crate::incoming::Incoming;

/// How the runner behaves.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// How often a message that fails by its own fault is tried before it is parked.
    pub attempts: u32,
    /// The pause after the first failure; it doubles up to `longest_pause`.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self { attempts: 8, first_pause: Duration::from_millis(20), longest_pause: Duration::from_secs(2) }
    }
}

/// Feeds one consumer's reactions.
pub struct Runner {
    database: Database,
    brokers: Brokers,
    topics: Topics,
    reactions: Consumer,
    settings: RunnerSettings,
}

impl Runner {
    /// A runner of these reactions.
    pub fn new(
        database: Database,
        brokers: Brokers,
        topics: Topics,
        reactions: Consumer,
        settings: RunnerSettings,
    ) -> Self {
        Self { database, brokers, topics, reactions, settings }
    }

    /// Works until it is told to stop; then finishes the batches that are out. Partitions go on at the same time,
    /// each with one batch at most, so one that waits stops no other.
    pub async fn run(self, stop: CancellationToken) -> Result<(), messaging::Error> {
        let topics: Vec<String> =
            self.reactions.streams().iter().map(|stream| self.topics.events(*stream)).collect();
        let group = self.topics.group(self.reactions.name());
        let mut subscription = Subscription::start(&self.brokers, SubscriptionSettings::new(group, topics))?;
        let batches = TaskTracker::new();
        while let Some(Some(batch)) = stop.run_until_cancelled(subscription.next()).await {
            crashpoint::reach!("consume.batch_received");
            let worker = Worker {
                database: self.database.clone(),
                reactions: self.reactions.clone(),
                settings: self.settings.clone(),
                stop: stop.clone(),
            };
            self.database.spawn(batches.track_future(async move { worker.deal_with(batch).await }));
        }
        batches.close();
        batches.wait().await;
        subscription.shutdown().await;
        Ok(())
    }
}

struct Worker {
    database: Database,
    reactions: Consumer,
    settings: RunnerSettings,
    stop: CancellationToken,
}

impl Worker {
    /// Deals with every message of the batch, however long it takes, or gives it back when told to stop.
    async fn deal_with(&self, batch: Batch) {
        if self.all_of(&batch).await.is_break() {
            return; // Dropped undone: the next owner of the partition gets it again.
        }
        crashpoint::reach!("consume.after_commit");
        batch.done();
        crashpoint::reach!("consume.offset_stored");
    }

    async fn all_of(&self, batch: &Batch) -> ControlFlow<()> {
        let readable: Result<Vec<Incoming>, HandlerError> =
            batch.messages().iter().map(Incoming::read_envelope).collect();
        if let Ok(messages) = readable {
            match apply(&self.database, &self.reactions, &messages).await {
                Ok(()) => return ControlFlow::Continue(()),
                Err(Stopped { failure, .. }) => {
                    let consumer = self.reactions.name();
                    tracing::warn!(consumer, %failure, "a batch was rolled back; its messages go one by one");
                }
            }
        }
        for received in batch.messages() {
            // A batch may be long, and whoever ends the process does not wait for ever.
            if self.stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            self.one(received).await?;
        }
        ControlFlow::Continue(())
    }

    /// Applies or parks one message. Infrastructure failures cost no attempts: the partition waits.
    async fn one(&self, received: &Received) -> ControlFlow<()> {
        let mut pause = self.settings.first_pause;
        let mut attempts = 0;
        loop {
            let Err(stopped) = self.attempt(received).await else { return ControlFlow::Continue(()) };
            let failure = &stopped.failure;
            if !failure.is_passing() {
                attempts += 1;
            }
            if failure.is_final() || attempts >= self.settings.attempts {
                match self.put_aside(received, &stopped).await {
                    Ok(()) if stopped.held.is_none() => return ControlFlow::Continue(()),
                    // What had waited for it is out of the way: its own attempts begin.
                    Ok(()) => attempts = 0,
                    Err(error) => tracing::warn!(%error, "a message was not parked; trying again"),
                }
            } else {
                let consumer = self.reactions.name();
                let (partition, offset) = (received.partition, received.offset);
                tracing::warn!(consumer, partition, offset, attempts, %failure, "a message was not applied; trying again");
            }
            if self.stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return ControlFlow::Break(());
            }
            pause = (pause * 2).min(self.settings.longest_pause);
        }
    }

    async fn attempt(&self, received: &Received) -> Result<(), Stopped> {
        let incoming = Incoming::read_envelope(received)?;
        apply(&self.database, &self.reactions, std::slice::from_ref(&incoming)).await
    }

    async fn put_aside(
        &self,
        received: &Received,
        Stopped { failure, held }: &Stopped,
    ) -> Result<(), HandlerError> {
        match held {
            Some(held) => park_held(&self.database, &self.reactions, held, failure).await,
            None => put_aside(&self.database, &self.reactions, received, failure).await,
        }
    }
}
