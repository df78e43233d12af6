//! The member: serves the client's events, and has a reader for each partition that is assigned to it.
//!
//! It never waits for the worker of a batch. Otherwise a slow worker would stop the polling, and the group would remove this
//! member. If the program makes no progress, it stops polling, because the group should remove it.

use std::collections::HashMap;
use std::mem::replace;
use std::sync::Arc;
use std::thread;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::SubscriptionSettings;
use super::batch::Batch;
use super::callbacks::{Consumer, GroupEvent, TopicPartition};
use super::connect;
use super::partition_reader::PartitionReader;
use super::settings::PROGRESS_INTERVAL;
use crate::Brokers;

pub(super) struct Member {
    pub(super) brokers: Brokers,
    pub(super) consumer: Arc<Consumer>,
    pub(super) events: mpsc::UnboundedReceiver<GroupEvent>,
    pub(super) batches: mpsc::Sender<Batch>,
    pub(super) settings: Arc<SubscriptionSettings>,
    pub(super) leave: CancellationToken,
    pub(super) readers: Readers,
}

/// One task for each partition that is assigned to this member.
#[derive(Default)]
pub(super) struct Readers {
    tasks: JoinSet<TopicPartition>,
    stops: HashMap<TopicPartition, CancellationToken>,
}

impl Member {
    /// Runs until `leave` is cancelled, until a fatal error, or until the client hangs. Drops `left` once it has left its group.
    pub(super) async fn run(mut self, left: oneshot::Sender<()>) {
        let leave = self.leave.clone();
        if let Some(reason) = leave.run_until_cancelled(self.serve()).await {
            tracing::error!(target: "kafka", group = self.settings.group, "the consumer ends: {reason}");
        }
        self.readers.end_all().await;
        let Self { consumer, events, batches, .. } = self;
        drop(events); // it may hold queues, and each queue holds the consumer
        drop(batches); // the worker sees the end, even if a client that hangs does not leave
        close(consumer, Some(left));
    }

    /// Returns the reason why it cannot go on.
    async fn serve(&mut self) -> String {
        loop {
            self.settings.wait_for_progress().await;
            let served = tokio::select! {
                // An event is handled before the next poll: a revoked queue must be dropped before its partition is assigned
                // again, because dropping the queue removes the partition's wake-up.
                biased;
                Some(event) = self.events.recv() => self.handle(event).await,
                message = self.consumer.recv() => match message {
                    Err(error @ KafkaError::MessageConsumptionFatal(_)) => Err(error.to_string()),
                    Err(_) => Ok(()), // the client recovers by itself, and has logged it
                    Ok(_) => Err("a message arrived outside its partition's queue, so the order is lost".to_owned()),
                },
                Some(Err(panic)) = self.readers.tasks.join_next() => Err(panic.to_string()),
                () = sleep(PROGRESS_INTERVAL) => Ok(()),
            };
            if let Err(reason) = served {
                return reason;
            }
        }
    }

    async fn handle(&mut self, event: GroupEvent) -> Result<(), String> {
        match event {
            GroupEvent::Assigned(partition, queue) => {
                let reader = PartitionReader {
                    partition: partition.clone(),
                    queue,
                    consumer: Arc::clone(&self.consumer),
                    batches: self.batches.clone(),
                    settings: Arc::clone(&self.settings),
                };
                let stop = self.leave.child_token();
                self.readers.tasks.spawn(reader.run(stop.clone()));
                self.readers.stops.insert(partition, stop);
            }
            GroupEvent::Revoked(partition) => self.readers.end(&partition).await?,
            GroupEvent::OffsetsUnknown => self.join_again()?,
            GroupEvent::BrokersForgotten => self.connect_again().await?,
            GroupEvent::Lost => {
                return Err("the client hangs outside its group although a broker answers".to_owned());
            }
        }
        Ok(())
    }

    /// Goes on with another client. Batches in progress are delivered again, by the next owner of their partitions.
    async fn connect_again(&mut self) -> Result<(), String> {
        tracing::warn!(target: "kafka", group = self.settings.group, "the Kafka client has forgotten its brokers; another one takes its place");
        self.readers.end_all().await;
        let joined = Arc::clone(&self.consumer.context().joined);
        let (consumer, events) = connect(&self.brokers, &self.settings, joined)
            .map_err(|error| format!("it cannot connect again: {error}"))?;
        self.events = events;
        close(replace(&mut self.consumer, consumer), None);
        Ok(())
    }

    /// Leaves the group and joins it again, so that its partitions are assigned again.
    fn join_again(&self) -> Result<(), String> {
        let topics: Vec<&str> = self.settings.topics.iter().map(String::as_str).collect();
        self.consumer.unsubscribe();
        self.consumer
            .subscribe(&topics)
            .map_err(|error| format!("it cannot join its group again: {error}"))?;
        tracing::info!(target: "kafka", "the consumer joins its group again, because committed offsets are unknown");
        Ok(())
    }
}

/// Closes a client in the background, because that blocks while it commits the last offsets and leaves the group. Drops `left` then.
fn close(consumer: Arc<Consumer>, left: Option<oneshot::Sender<()>>) {
    let leaving = move || {
        drop(consumer);
        drop(left);
    };
    let _ = thread::Builder::new().name("kafka-consumer".to_owned()).spawn(leaving); // without a thread, it blocks here
}

impl Readers {
    /// Ends all readers, and waits until they have dropped their queues.
    async fn end_all(&mut self) {
        for (_, stop) in self.stops.drain() {
            stop.cancel();
        }
        while self.tasks.join_next().await.is_some() {}
    }

    /// Ends the reader of a partition, and waits until it has dropped its queue.
    async fn end(&mut self, partition: &TopicPartition) -> Result<(), String> {
        let Some(stop) = self.stops.remove(partition) else { return Ok(()) };
        stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            if ended.map_err(|panic| panic.to_string())? == *partition {
                break;
            }
        }
        Ok(())
    }
}
