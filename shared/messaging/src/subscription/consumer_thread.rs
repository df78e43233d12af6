//! The consumer thread: polls the client, hands out batches, and stores the offsets of batches that are done.
//!
//! It never waits for the worker of a batch. Otherwise a slow worker would stop the polling, and the group would remove
//! this member. If the program makes no progress, the thread stops polling, because the group should remove this member.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::SubscriptionSettings;
use super::assigned_partition::{AssignedPartition, Fetched};
use super::batch::Batch;
use super::callbacks::{Consumer, Generations};
use super::commands::{CommandSender, ThreadCommand, TopicPartition};

/// The longest pause between two polls. Messages, events and commands end the pause at once; this limit only bounds the
/// delay after a missed wake-up.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Polls in a row. A poll that served an event returns the same as a poll that found none.
const POLLS_PER_ROUND: usize = 16;

pub(super) struct ConsumerThread {
    consumer: Arc<Consumer>,
    generations: Generations,
    received: Receiver<ThreadCommand>,
    commands: CommandSender,
    batches: Sender<Batch>,
    settings: SubscriptionSettings,
    partitions: Vec<AssignedPartition>,
    /// Partitions with a batch in progress. An entry stays when its partition is revoked: if the partition is assigned
    /// again, it waits until the batch from before is done or dropped.
    in_progress: HashSet<TopicPartition>,
}

impl ConsumerThread {
    pub(super) fn new(
        consumer: Arc<Consumer>,
        received: Receiver<ThreadCommand>,
        commands: CommandSender,
        batches: Sender<Batch>,
        settings: SubscriptionSettings,
    ) -> Self {
        let generations = consumer.context().generations.clone();
        let (partitions, in_progress) = (Vec::new(), HashSet::new());
        Self { consumer, generations, received, commands, batches, settings, partitions, in_progress }
    }

    /// Runs until the command to leave, until a fatal error, or until the client hangs. Dropping the consumer blocks while it commits the last
    /// offsets and leaves the group; it therefore happens on this thread.
    pub(super) fn run(mut self) {
        self.commands.wake_current_thread();
        while self.run_round().is_continue() {
            thread::park_timeout(self.pause());
        }
        self.partitions.clear(); // their queues hold the consumer
        let Self { consumer, received, batches, .. } = self;
        drop(received); // unread commands may hold it too
        drop(batches); // the reader sees the end, even if a client that hangs does not leave
        drop(consumer);
    }

    fn run_round(&mut self) -> ControlFlow<()> {
        if !self.settings.progress.ask() {
            return self.handle_commands();
        }
        for _ in 0..POLLS_PER_ROUND {
            self.poll_client()?;
            // Commands are handled after each event: a revoked queue must be dropped before its partition is assigned
            // again, because dropping the queue removes the partition's wake-up.
            self.handle_commands()?;
        }
        self.hand_out_batches()
    }

    fn handle_commands(&mut self) -> ControlFlow<()> {
        while let Ok(command) = self.received.try_recv() {
            self.handle_command(command)?;
        }
        ControlFlow::Continue(())
    }

    /// Serves one event: a rebalance, an error or a log line. Messages arrive only in the queues of the partitions.
    fn poll_client(&self) -> ControlFlow<()> {
        match self.consumer.poll(Duration::ZERO) {
            None => ControlFlow::Continue(()),
            Some(Err(error)) => stop_if_fatal(&error),
            Some(Ok(_)) => {
                tracing::error!(target: "kafka", "a message arrived outside its partition's queue, so the order is lost; the consumer leaves its group");
                ControlFlow::Break(())
            }
        }
    }

    fn handle_command(&mut self, command: ThreadCommand) -> ControlFlow<()> {
        match command {
            ThreadCommand::Assigned(partition, queue) => {
                self.partitions.push(AssignedPartition::new(partition, queue));
            }
            ThreadCommand::Revoked(revoked) => {
                let is_revoked = |partition: &mut AssignedPartition| revoked.contains(&partition.id);
                let released = self.partitions.extract_if(.., is_revoked);
                released.for_each(|partition| partition.release(&self.consumer));
            }
            ThreadCommand::BatchDone { partition, generation, next } => {
                self.in_progress.remove(&partition);
                if generation == self.generations.get(&partition) {
                    self.store_offset(&partition, next);
                }
            }
            ThreadCommand::BatchReturned { partition, generation, messages } => {
                self.in_progress.remove(&partition);
                if generation == self.generations.get(&partition) {
                    let delay = self.settings.redelivery_delay;
                    if let Some(partition) = self.assigned(&partition) {
                        partition.keep_returned(messages, delay);
                    }
                }
            }
            ThreadCommand::OffsetsUnknown => return self.join_again(),
            ThreadCommand::Lost => {
                tracing::error!(target: "kafka", "the client hangs outside its group although a broker answers; the consumer ends");
                return ControlFlow::Break(());
            }
            ThreadCommand::Leave => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Leaves the group and joins it again, so that its partitions are assigned again.
    fn join_again(&self) -> ControlFlow<()> {
        let topics: Vec<&str> = self.settings.topics.iter().map(String::as_str).collect();
        self.consumer.unsubscribe();
        if let Err(error) = self.consumer.subscribe(&topics) {
            tracing::error!(target: "kafka", %error, "the consumer cannot join its group again, and ends");
            return ControlFlow::Break(());
        }
        tracing::info!(target: "kafka", "the consumer joins its group again, because committed offsets are unknown");
        ControlFlow::Continue(())
    }

    /// Stores the offset in the client, which commits it at the next interval and before the partition is revoked.
    fn store_offset(&mut self, partition: &TopicPartition, next: i64) {
        // The client adds one to the offset that it is given.
        if let Err(error) = self.consumer.store_offset(&partition.topic, partition.partition, next - 1) {
            self.consumer.context().log.problem(&format!("the offset of {partition} is not stored: {error}"));
        }
        if let Some(partition) = self.assigned(partition) {
            partition.continue_at(next);
        }
    }

    fn assigned(&mut self, id: &TopicPartition) -> Option<&mut AssignedPartition> {
        self.partitions.iter_mut().find(|partition| partition.id == *id)
    }

    /// Hands out a batch of each partition that has messages and no batch in progress, while the channel has room.
    fn hand_out_batches(&mut self) -> ControlFlow<()> {
        if !self.partitions.is_empty() {
            self.partitions.rotate_left(1); // so that another partition is first in each round
        }
        for partition in &mut self.partitions {
            if self.in_progress.contains(&partition.id) {
                continue;
            }
            let permit = match self.batches.try_reserve() {
                Ok(permit) => permit,
                Err(TrySendError::Full(())) => break,
                Err(TrySendError::Closed(())) => return ControlFlow::Break(()),
            };
            let content = match partition.fetch(&self.consumer, &self.settings) {
                Fetched::Nothing => continue,
                Fetched::Messages(messages) => Ok(messages),
                Fetched::Unreadable(record) => Err(record),
                Fetched::Fatal(error) => return stop_if_fatal(&error),
            };
            self.in_progress.insert(partition.id.clone());
            permit.send(Batch::new(partition.id.clone(), content, &self.generations, &self.commands));
        }
        ControlFlow::Continue(())
    }

    /// Returns the time until the next round: until the next retry of a returned batch, at most [`MAX_PAUSE`].
    fn pause(&self) -> Duration {
        let idle = self.partitions.iter().filter(|partition| !self.in_progress.contains(&partition.id));
        idle.filter_map(AssignedPartition::retry_delay).fold(MAX_PAUSE, Duration::min)
    }
}

/// Stops the thread after a fatal error. The client recovers from all other errors by itself and has logged them.
fn stop_if_fatal(error: &KafkaError) -> ControlFlow<()> {
    if !matches!(error, KafkaError::MessageConsumptionFatal(_)) {
        return ControlFlow::Continue(());
    }
    tracing::error!(target: "kafka", %error, "the consumer cannot continue and leaves its group");
    ControlFlow::Break(())
}
