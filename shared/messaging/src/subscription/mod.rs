//! The consumer: reads as a member of a consumer group and hands out batches.
//!
//! A thread of its own polls Kafka. It never waits for the worker of a batch, so a slow database does not cost the
//! membership. Offsets move only past batches that the worker has declared done.

mod assigned_partition;
mod batch;
mod callbacks;
mod commands;
mod consumer_thread;
mod lags;
mod membership;
mod settings;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::sync::{SetOnce, mpsc, oneshot};

use self::callbacks::ConsumerCallbacks;
use self::commands::{CommandSender, ThreadCommand};
use self::consumer_thread::ConsumerThread;
use crate::{Brokers, Error};

pub(crate) use self::assigned_partition::is_about_a_record;
pub use self::batch::{Batch, UnreadableRecord};
pub use self::lags::PartitionLags;
pub use self::settings::{ProgressCheck, SubscriptionSettings};

/// How long `shutdown` waits until the consumer has left its group.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A member of a consumer group.
///
/// Dropping it leaves the group in the background; [`shutdown`](Self::shutdown) waits for that.
pub struct Subscription {
    group: String,
    batches: mpsc::Receiver<Batch>,
    commands: CommandSender,
    joined: Arc<SetOnce<()>>,
    left: oneshot::Receiver<()>,
}

impl Subscription {
    /// Joins the group. Returns at once; if brokers or topics are missing, the client retries in the background without
    /// a time limit.
    pub fn start(brokers: &Brokers, settings: SubscriptionSettings) -> Result<Self, Error> {
        let (sender, received) = channel();
        let commands = CommandSender::new(sender);
        let callbacks = ConsumerCallbacks::new(brokers, &settings, commands.clone());
        let mut consumer =
            BaseConsumer::from_config_and_context(&settings.client_config(brokers)?, callbacks)
                .map_err(|error| Error::configuration(&error))?;
        let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
        consumer
            .subscribe(&topics)
            .map_err(|error| Error::refused(format!("subscribe to {}", topics.join(", ")), &error))?;
        let waker = commands.clone();
        consumer.set_nonempty_callback(move || waker.wake());
        let consumer = Arc::new(consumer);
        consumer.context().set_consumer(&consumer);
        let joined = Arc::clone(&consumer.context().joined);

        let (batch_sender, batches) = mpsc::channel(settings.max_waiting_batches);
        let (leaving, left) = oneshot::channel();
        let group = settings.group.clone();
        let thread = ConsumerThread::new(consumer, received, commands.clone(), batch_sender, settings);
        std::thread::Builder::new()
            .name("kafka-consumer".to_owned())
            .spawn(move || {
                thread.run();
                drop(leaving);
            })
            .map_err(Error::Thread)?;
        Ok(Self { group, batches, commands, joined, left })
    }

    /// Is set once the group has assigned this member its first partitions; none, if others still have all of them.
    pub fn joined(&self) -> Arc<SetOnce<()>> {
        Arc::clone(&self.joined)
    }

    /// Waits for the next batch of any partition. A partition has at most one batch in progress.
    ///
    /// Returns `None` once the consumer has ended. By itself it ends only after a fatal error, or if the client hangs outside
    /// its group. It logs both. Dropping the future loses no batch.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            let batch = self.batches.recv().await?;
            self.commands.wake(); // because the channel has room for another batch now
            if batch.is_current() {
                return Some(batch);
            }
        }
    }

    /// Commits the offsets of the batches that are done and leaves the group. Returns once both have happened, or after
    /// ten seconds. Finish the batches in progress first; otherwise the next reader gets them again.
    pub async fn shutdown(mut self) {
        self.commands.send(ThreadCommand::Leave);
        if tokio::time::timeout(LEAVE_TIMEOUT, &mut self.left).await.is_err() {
            let group = self.group.as_str();
            tracing::warn!(target: "kafka", group, "the consumer did not leave its group in time; the brokers remove it after its session timeout");
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.commands.send(ThreadCommand::Leave);
    }
}
