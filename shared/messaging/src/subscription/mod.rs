//! Reading as a member of a consumer group, in batches that are spent once.

mod batch;
mod commands;
mod context;
mod partition;
mod settings;
mod thread;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::sync::{mpsc, oneshot};

use self::commands::{Command, Commands};
use self::context::MemberContext;
use self::thread::Member;
use crate::{Brokers, Error};

pub use self::batch::Batch;
pub use self::settings::SubscriptionSettings;

/// How long leaving the group may take before `shutdown` stops waiting for it.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A member of a consumer group. Its own thread polls, whatever happens to the batches, so that a slow or absent
/// database never costs the membership.
///
/// Dropping it leaves the group in the background; [`shutdown`](Self::shutdown) waits for that.
pub struct Subscription {
    group: String,
    batches: mpsc::Receiver<Batch>,
    commands: Commands,
    left: oneshot::Receiver<()>,
}

impl Subscription {
    /// Joins the group. Returns at once: brokers or topics that are not there yet are waited for in the
    /// background, for ever.
    pub fn start(brokers: &Brokers, settings: SubscriptionSettings) -> Result<Self, Error> {
        let (sender, received) = channel();
        let commands = Commands::new(sender);
        let context = MemberContext::new(brokers, &settings, commands.clone());
        let mut consumer = BaseConsumer::from_config_and_context(&settings.client_config(brokers), context)
            .map_err(|error| Error::configuration(&error))?;
        let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
        consumer
            .subscribe(&topics)
            .map_err(|error| Error::refused(format!("subscribe to {}", topics.join(", ")), &error))?;
        let waker = commands.clone();
        consumer.set_nonempty_callback(move || waker.wake());
        let consumer = Arc::new(consumer);
        consumer.context().remember(&consumer);

        let (batches_out, batches) = mpsc::channel(settings.max_waiting_batches);
        let (leaving, left) = oneshot::channel();
        let group = settings.group.clone();
        let member = Member::new(consumer, received, commands.clone(), batches_out, settings);
        std::thread::Builder::new()
            .name("kafka-consumer".to_owned())
            .spawn(move || {
                member.run();
                drop(leaving);
            })
            .map_err(Error::Thread)?;
        Ok(Self { group, batches, commands, left })
    }

    /// The next batch, of whichever partition has one; at most one of each partition is out at a time. `None`
    /// once the consumer has ended, which happens by itself only after a fatal error (it is in the log). Dropping
    /// the future loses nothing.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            let batch = self.batches.recv().await?;
            self.commands.wake(); // a place for another batch is free
            if batch.is_current() {
                return Some(batch);
            }
        }
    }

    /// Commits the offsets of the batches that are done, leaves the group, and returns once that has happened, or
    /// after ten seconds. Batches that are still out will be delivered again, to whoever reads next: finish them
    /// first.
    pub async fn shutdown(mut self) {
        self.commands.send(Command::Leave);
        if tokio::time::timeout(LEAVE_TIMEOUT, &mut self.left).await.is_err() {
            let group = self.group.as_str();
            tracing::warn!(target: "kafka", group, "the group was not left in time; its brokers will notice by themselves");
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.commands.send(Command::Leave);
    }
}
