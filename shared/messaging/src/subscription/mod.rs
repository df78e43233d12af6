//! The consumer: reads as a member of a consumer group and hands out batches.
//!
//! One task serves the client's events, and one task for each partition reads it. None of them waits for a worker while the client
//! must be polled, so a slow database does not cost the membership. Offsets move only past batches that the worker has declared done.

mod batch;
mod callbacks;
mod committed;
mod lags;
mod member;
mod membership;
mod missing;
mod partition_reader;
mod settings;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{Consumer, StreamConsumer};
use tokio::sync::{SetOnce, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::callbacks::{ConsumerCallbacks, GroupEvent};
use self::member::{Member, Readers};
use crate::{Brokers, Error};

pub use self::batch::{Batch, UnreadableRecord};
pub use self::lags::PartitionLags;
pub use self::settings::SubscriptionSettings;
pub(crate) use self::unreadable::is_about_a_record;

/// The largest number of batches that wait to be taken.
const WAITING_BATCHES: usize = 16;

/// How long `shutdown` waits until the consumer has left its group.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A member of a consumer group.
///
/// Dropping it leaves the group in the background; [`shutdown`](Self::shutdown) waits for that.
pub struct Subscription {
    group: String,
    batches: mpsc::Receiver<Batch>,
    joined: Arc<SetOnce<()>>,
    /// The member leaves its group when this is dropped.
    membership: DropGuard,
    left: oneshot::Receiver<()>,
}

impl Subscription {
    /// Joins the group. Returns at once; if brokers or topics are missing, the client retries in the background without
    /// a time limit. Its tasks run on the present Tokio runtime.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the client refuses a property or a file of one, and [`Error::Refused`] if it refuses the list of
    /// topics.
    pub fn start(brokers: &Brokers, settings: SubscriptionSettings) -> Result<Self, Error> {
        let (group, joined) = (settings.group.clone(), Arc::default());
        let (consumer, events) = connect(brokers, &settings, Arc::clone(&joined))?;
        let (leave, (leaving, left)) = (CancellationToken::new(), oneshot::channel());
        let (sender, batches) = mpsc::channel(WAITING_BATCHES);
        let settings = Arc::new(settings);
        let readers = Readers::default();
        let brokers = brokers.clone();
        let member =
            Member { brokers, consumer, events, batches: sender, settings, leave: leave.clone(), readers };
        #[expect(clippy::disallowed_methods, reason = "`next` sees its end, `shutdown` waits for it")]
        tokio::spawn(member.run(leaving));
        Ok(Self { group, batches, joined, membership: leave.drop_guard(), left })
    }

    /// Is set once the group has assigned this member its first partitions; none, if others still have all of them.
    pub fn joined(&self) -> Arc<SetOnce<()>> {
        Arc::clone(&self.joined)
    }

    /// Waits for the next batch of any partition. A partition has at most one batch in progress.
    ///
    /// Returns `None` once the consumer has ended. By itself it ends only after a fatal error, or if the client hangs outside
    /// its group or cannot be replaced. It logs the reason. Dropping the future loses no batch.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            let batch = self.batches.recv().await?;
            if batch.is_current() {
                return Some(batch);
            }
        }
    }

    /// Commits the offsets of the batches that are done and leaves the group. Returns once both have happened, or after
    /// ten seconds. Finish the batches in progress first; otherwise the next reader gets them again.
    pub async fn shutdown(self) {
        let Self { group, membership, left, .. } = self;
        drop(membership);
        if tokio::time::timeout(LEAVE_TIMEOUT, left).await.is_err() {
            tracing::warn!(target: "kafka", group, "the consumer did not leave its group in time; the brokers remove it after its session timeout");
        }
    }
}

/// Creates a client that joins the group, and the channel of its events. `joined` is set once it has partitions.
fn connect(
    brokers: &Brokers,
    settings: &SubscriptionSettings,
    joined: Arc<SetOnce<()>>,
) -> Result<(Arc<callbacks::Consumer>, mpsc::UnboundedReceiver<GroupEvent>), Error> {
    let (told, events) = mpsc::unbounded_channel();
    let callbacks = ConsumerCallbacks::new(brokers, settings, told, joined);
    let consumer = StreamConsumer::from_config_and_context(&settings.client_config(brokers)?, callbacks)
        .map_err(|error| Error::configuration(&error))?;
    let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
    consumer
        .subscribe(&topics)
        .map_err(|error| Error::refused(format!("subscribe to {}", topics.join(", ")), &error))?;
    let consumer = Arc::new(consumer);
    consumer.context().set_consumer(&consumer);
    Ok((consumer, events))
}
