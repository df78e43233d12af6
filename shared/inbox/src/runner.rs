//! Runs a consumer: joins its group, reads batches from Kafka, and gives them to the worker.
//!
//! Batches of several partitions share a transaction: those that arrive while one commits are in the next one (group
//! commit). A single message on an idle consumer waits for no other, unless its type is ignored.

use std::mem::take;
use std::pin::pin;
use std::sync::Arc;

use database::{Database, Heartbeat};
use envelope::Topics;
use futures_util::FutureExt;
use messaging::{Batch, Brokers, FileWatch, Subscription, SubscriptionSettings};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::consumer::Consumer;
use crate::membership::membership;
use crate::runner_settings::RunnerSettings;
use crate::turns::Turns;
use crate::worker::Worker;

/// Batches are added to a transaction until it has so many messages.
const MESSAGES_AT_ONCE: usize = 1_000;

/// Feeds one consumer with the messages of its topics.
pub struct Runner {
    subscription: Subscription,
    files: FileWatch,
    membership: SubscriptionSettings,
    worker: Arc<Worker>,
    heartbeat: Heartbeat,
}

impl Runner {
    /// Joins the consumer's group. Returns at once, also if no broker answers.
    ///
    /// # Errors
    /// As [`Subscription::start`].
    pub fn join(
        database: Database,
        brokers: &Brokers,
        topics: &Topics,
        consumer: Consumer,
        settings: RunnerSettings,
    ) -> Result<Self, messaging::Error> {
        let membership = membership(&database, topics, &consumer, &settings);
        let heartbeat = database.heartbeats().of("consumer");
        let files = brokers.watch_files();
        let subscription = Subscription::start(brokers, membership.clone())?;
        let worker = Worker { database, brokers: brokers.clone(), consumer, settings };
        Ok(Self { subscription, files, membership, worker: Arc::new(worker), heartbeat })
    }

    /// Is set once the group has assigned partitions.
    pub fn joined(&self) -> Arc<SetOnce<()>> {
        self.subscription.joined()
    }

    /// Runs until `stop` is cancelled, and then finishes the batches that are being applied. A partition has one batch at a time.
    ///
    /// Ends earlier if the client fails for good, if the client is lost outside of its group, or if it cannot join the group again. The
    /// log names the reason. The caller then ends the process, or joins the group again with a new runner.
    ///
    /// A handler that waits delays the partitions of its transaction until the transaction fails and is split, and all
    /// others by 100 ms at most.
    pub async fn run(self, stop: CancellationToken) {
        self.heartbeat.clone().during(self.read(stop)).await;
    }

    async fn read(mut self, stop: CancellationToken) {
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
        let tasks = TaskTracker::new();
        // A partition that waits must not hold up the end of this membership: the next one reads it again.
        let stop = stop.child_token();
        let start = |task| drop(self.database.spawn(tasks.track_future(task)));
        let mut turns = Turns::new(self.settings.gather);
        let mut waiting: Vec<Batch> = Vec::new();
        let mut renewed = pin!(files.renewed());
        let join_again = loop {
            let messages: usize = waiting.iter().map(|batch| batch.messages().len()).sum();
            tokio::select! {
                biased; // all batches that have arrived share the next transaction
                () = stop.cancelled() => break false,
                () = &mut renewed => break true,
                batch = subscription.next(), if messages < MESSAGES_AT_ONCE => {
                    let Some(batch) = batch else { break false };
                    crashpoint::reach!("consume.batch_received");
                    match batch.unreadable().cloned() {
                        Some(record) => start(Arc::clone(self).park_corrupt(batch, record, stop.clone()).boxed()),
                        None => waiting.push(batch),
                    }
                }
                turn = turns.next(), if messages > 0 => {
                    let handled = waiting.iter().flat_map(Batch::messages).filter(|it| !self.consumer.ignores(it));
                    turns.started(handled.take(2).count()); // two show load as a thousand do
                    start(Arc::clone(self).process(take(&mut waiting), turn, stop.clone()).boxed());
                }
            }
        };
        stop.cancel();
        drop(waiting); // the next owner of their partitions receives them
        tasks.close();
        tasks.wait().await;
        subscription.shutdown().await;
        join_again
    }
}
